import { operator } from '#edge';
import { command } from './command.js';
import { accountOf, withPeople } from './people.js';
import { dataFlag } from './target.js';

export const body = command({
  about:
    'Prints a link by which a person sets another password, once and within a day; the password before holds until then. A link that was ' +
    'made before is worth nothing any more. Works on the data plane that the environment names, or, with --data, on the data folder of a ' +
    'server that is stopped.',
  argument: { name: 'EMAIL', about: 'the address of the person' },
  flags: { data: dataFlag },
  examples: ['headwater people reset ada@example.com --data data'],
  async run({ data }, io, email) {
    await io.data(`${await withPeople(data, async (ports) => ports.people.offerReset(accountOf(ports, email), operator))}\n`);
    io.note('This link is shown once: give it to the person now.');
  },
});
