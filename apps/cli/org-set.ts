import { command } from './command.js';
import { Failure, usage } from './failure.js';
import { changedLimits, limitFlag, paymentFlag, readLimits, readPayment, toListed, withOrganizations } from './organizations.js';
import { dataFlag } from './target.js';

export const body = command({
  about:
    'Changes an organization; what is not named stays as it is. Running roles of the data plane go by it within seconds. Limits hold in ' +
    'each process that takes points, so two of them let in twice as much. With --data it works on the data folder of a server that is stopped.',
  argument: { name: 'ORGANIZATION', about: 'its id, as `headwater org list` shows it' },
  flags: {
    data: dataFlag,
    name: { value: 'NAME', about: 'its name, for people' },
    payment: paymentFlag,
    limit: limitFlag,
    json: { about: 'print the organization as JSON' },
  },
  examples: [
    'headwater org set org_0000000000000001 --limit points_per_s=20000 --limit key_requests_per_s=100',
    'headwater org set org_0000000000000001 --limit points_per_s=none',
    'headwater org set org_0000000000000001 --payment no --data data',
  ],
  async run({ data, name, payment, limit, json }, io, orgId) {
    if (name === undefined && payment === undefined && limit.length === 0) throw usage('Give --name, --payment or --limit.');
    const change = { ...(name !== undefined && { name }), ...(payment !== undefined && { paymentMethodOnFile: readPayment(payment) }) };
    const limits = readLimits(limit);
    const changed = await withOrganizations(data, (organizations) =>
      organizations.set(orgId, { ...change, limits: changedLimits(organizations.limits(orgId), limits) }),
    );
    if (!changed) throw new Failure(`There is no organization ${orgId}: see \`headwater org list\`.`);
    if (json) await io.data(`${JSON.stringify(toListed(changed), null, 2)}\n`);
    io.note(`Changed the organization ${orgId}.`);
  },
});
