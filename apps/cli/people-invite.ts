import { operator } from '#edge';
import { personRoles } from '#model';
import { command } from './command.js';
import { usage } from './failure.js';
import { organizationOf, orgFlag, withPeople } from './people.js';
import { dataFlag } from './target.js';

export const body = command({
  about:
    'Prints a link, once. Who opens it makes an account, or signs in, and belongs to the organization from then on; it is for one person, ' +
    'and for 7 days. It begins with HEADWATER_PUBLIC_URL, or else with HEADWATER_URL. Works on the data plane that the environment names, or, ' +
    'with --data, on the data folder of a server that is stopped.',
  flags: {
    data: dataFlag,
    org: orgFlag,
    role: { value: 'ROLE', about: 'owner, member or viewer', default: 'owner' },
    email: { value: 'EMAIL', about: 'who may use the link; without it whoever has it' },
  },
  examples: [
    'headwater people invite --data data',
    'headwater people invite --org org_0000000000000001 --role viewer --email ada@example.com',
  ],
  async run({ data, org, role: name, email = '' }, io) {
    const role = personRoles.find((one) => one === name);
    if (!role) throw usage(`There is no role "${name}": use one of ${personRoles.join(', ')}.`);
    const { link } = await withPeople(data, async (ports) => ports.people.invite(organizationOf(ports, org).orgId, role, email, operator));
    await io.data(`${link}\n`);
    io.note('This link is shown once: give it to the person now.');
  },
});
