import { command } from './command.js';
import { toListed, withOrganizations } from './organizations.js';
import { dataFlag } from './target.js';
import { aligned, oneLine } from './text.js';

export const body = command({
  about:
    'Shows each organization, whether it has a payment method on file, and the limits of its own: where it has none for devices, series or ' +
    'tag sets, the variables HEADWATER_MAX_… of the servers hold, and rates are not limited. Works on the data plane that the environment ' +
    'names, or, with --data, on the data folder of a server that is stopped.',
  flags: { data: dataFlag, json: { about: 'print it as JSON' } },
  examples: ['headwater org list', 'headwater org list --data data --json | jq -r ".organizations[].id"'],
  async run({ data, json }, io) {
    const organizations = await withOrganizations(data, async (all) => all.list());
    if (json) return io.data(`${JSON.stringify({ organizations: organizations.map(toListed) }, null, 2)}\n`);
    const rows = organizations.map(({ orgId, paymentMethodOnFile, createdMs, limits, name }) => [
      orgId,
      paymentMethodOnFile ? 'yes' : 'no',
      new Date(createdMs).toISOString().slice(0, 10),
      Object.entries(limits)
        .map(([limit, number]) => `${limit}=${number}`)
        .join(',') || '-',
      oneLine(name),
    ]);
    return io.data(aligned([['ID', 'PAYS', 'CREATED', 'LIMITS', 'NAME'], ...rows]));
  },
});
