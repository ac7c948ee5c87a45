import { operator } from '#edge';
import { command } from './command.js';
import { Failure, usage } from './failure.js';
import { changedLimits, changing, limitFlag, paymentFlag, readLimits, readYes, toListed, withOrganizations } from './organizations.js';
import { dataFlag } from './target.js';

export const body = command({
  about:
    'Changes an organization; what is not named stays as it is. Running roles of the data plane go by it within seconds. Limits hold in ' +
    'each process that takes points, so two of them let in twice as much. What it is to have for some hours, it sees no longer than that, in all processes. With --data it works on the data folder of a server that is stopped.',
  argument: { name: 'ORGANIZATION', about: 'its id, as `headwater org list` shows it' },
  flags: {
    data: dataFlag,
    name: { value: 'NAME', about: 'its name, for people' },
    payment: paymentFlag,
    limit: limitFlag,
    enforceReadScope: {
      value: 'YES',
      about: 'yes or no: whether its keys need the scope read for reading, and write for changing monitors and alerts and for commands',
    },
    json: { about: 'print the organization as JSON' },
  },
  examples: [
    'headwater org set org_0000000000000001 --limit points_per_s=20000 --limit key_requests_per_s=100',
    'headwater org set org_0000000000000001 --limit points_per_s=none',
    'headwater org set org_0000000000000001 --payment no --data data',
  ],
  async run({ data, name, payment, limit, enforceReadScope: enforced, json }, io, orgId) {
    if ([name, payment, enforced].every((one) => one === undefined) && limit.length === 0)
      throw usage('Give --name, --payment, --limit or --enforce-read-scope.');
    const change = {
      ...(name !== undefined && { name }),
      ...(payment !== undefined && { paymentMethodOnFile: readYes('payment', payment) }),
      ...(enforced !== undefined && { enforceReadScope: readYes('enforce-read-scope', enforced) }),
    };
    const limits = readLimits(limit);
    const changed = await withOrganizations(data, async (organizations, ports) => {
      if (!organizations.get(orgId)) throw new Failure(`There is no organization ${orgId}: see \`headwater org list\`.`);
      const wanted = { ...change, ...(limit.length > 0 && { limits: changedLimits(organizations.limits(orgId), limits) }) };
      return changing(ports, organizations, (changes) => changes.change(orgId, wanted, operator));
    });
    if (json) await io.data(`${JSON.stringify(toListed(changed), null, 2)}\n`);
    io.note(`Changed the organization ${orgId}.`);
  },
});
