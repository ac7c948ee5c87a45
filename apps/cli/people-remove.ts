import { operator } from '#edge';
import { command } from './command.js';
import { accountOf, organizationOf, orgFlag, withPeople } from './people.js';
import { dataFlag } from './target.js';

export const body = command({
  about:
    'The person does not belong to the organization any more; the account stays, and so do the keys that the person has made. Works on the ' +
    'data plane that the environment names, or, with --data, on the data folder of a server that is stopped.',
  argument: { name: 'EMAIL', about: 'the address of the person' },
  flags: { data: dataFlag, org: orgFlag },
  examples: ['headwater people remove ada@example.com --data data'],
  async run({ data, org }, io, email) {
    const name = await withPeople(data, async (ports) => {
      const organization = organizationOf(ports, org);
      await ports.people.remove(organization.orgId, accountOf(ports, email).accountId, operator);
      return organization.name;
    });
    io.note(`Removed ${email} from ${name}.`);
  },
});
