import { operator } from '#edge';
import { scopes } from '#model';
import { command } from './command.js';
import {
  changedLimits,
  changing,
  limitFlag,
  makeKey,
  paymentFlag,
  readLimits,
  readYes,
  toListed,
  withOrganizations,
} from './organizations.js';
import { dataFlag } from './target.js';

export const body = command({
  about:
    'Makes an organization and its first key, which has all scopes and is printed to stdout, once. Works on the data plane that the ' +
    'environment names, or, with --data, on the data folder of a server that is stopped.',
  flags: {
    data: dataFlag,
    name: { value: 'NAME', about: 'its name, for people', required: true },
    payment: { ...paymentFlag, default: 'no' },
    limit: limitFlag,
    json: { about: 'print the organization as JSON, with the key in `api_key`' },
  },
  examples: [
    'headwater org create --name "Plant 7" --payment yes --data data',
    'headwater org create --name tests --limit points_per_s=5000 --limit series=10000',
  ],
  async run({ data, name, payment, limit, json }, io) {
    const paymentMethodOnFile = readYes('payment', payment);
    const limits = changedLimits({}, readLimits(limit));
    const { organization, secret } = await withOrganizations(data, async (organizations, ports) => {
      const wanted = { name, paymentMethodOnFile, limits };
      const made = await changing(ports, organizations, (changes) => changes.create(wanted, operator));
      io.note(`Made the organization ${made.orgId}.`);
      if (!paymentMethodOnFile) io.note(`Its keys get 402 until there is a payment method: headwater org set ${made.orgId} --payment yes`);
      return { organization: made, secret: (await makeKey(ports, made.orgId, { name: 'First key', scopes })).secret };
    });
    await io.data(json ? `${JSON.stringify({ ...toListed(organization), api_key: secret }, null, 2)}\n` : `${secret}\n`);
    io.note('This key is shown once: store it now.');
  },
});
