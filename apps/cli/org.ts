import { Commands, KeyCommands, type NewKey, operator, OrganizationChanges, Organizations, type WantedKey, whileDeciding } from '#edge';
import { flawOfLimits, type LimitName, limitNames, operatorOrgId, type Organization, type OrganizationLimits, scopes } from '#model';
import { decisionsGroup, keysGroup } from '#topics';
import { toListedOrganization } from '../control/people/organizations.js';
import { command } from './command.js';
import { dataFlag, type LogPorts, withLog } from './target.js';
import { aligned, oneLine } from './text.js';
import { Failure, usage } from './failure.js';
import { connectionFlags } from './connection.js';
import { exportAll } from './export-all.js';

/** The flag of the commands that limit an organization. */
const limitFlag = {
  value: 'NAME=NUMBER',
  about: `a limit of its own, or NAME=none for none; may be repeated. Names: ${limitNames.join(', ')}`,
  many: true,
} as const;

const paymentFlag = {
  value: 'YES',
  about: 'yes or no: whether it has a payment method on file, without which its keys get 402',
} as const;

export const list = command({
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

export const create = command({
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

export const set = command({
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
    'headwater org set org_0000000000000001 --limit points_per_s=20000 --limit key_requests_per_s=100 --data data',
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

export const remove = command({
  about:
    'Deletes an organization and all that it has: points, events, keys, people, monitors and alert targets. Within seconds nobody is let in any more; the running ' +
    'roles of the data plane remove the rest within minutes, and the server of a data folder does after its next start. The log keeps the bytes ' +
    'for as long as it keeps its records. Without --yes it only says what it would delete.',
  argument: { name: 'ORGANIZATION', about: 'its id, as `headwater org list` shows it' },
  flags: {
    data: dataFlag,
    export: {
      value: 'FILE',
      about: 'first write all that its devices have sent there, as `headwater export --all` does, with a key of the organization',
    },
    ...connectionFlags,
    yes: { about: 'delete it' },
  },
  examples: [
    'headwater org delete org_0000000000000002 --data data --yes',
    'headwater org delete org_0000000000000002 --export plant-7.ndjson --url http://localhost:8080 --yes',
  ],
  async run({ data, export: file, yes, ...flags }, io, orgId) {
    if (orgId === operatorOrgId) throw usage('Each start of the server makes this organization again: delete what it has instead.');
    if (file !== undefined && data !== undefined) throw usage('Export from a server that runs, then stop it and leave out --export.');
    await withOrganizations(data, async (organizations, ports) => {
      const organization = organizations.get(orgId);
      if (!organization) throw new Failure(`There is no organization ${orgId}: see \`headwater org list\`.`);
      if (!yes)
        throw new Failure(`This would delete the organization ${orgId} (${organization.name}) and all that it has: say --yes to do it.`);
      if (file !== undefined) await exportAll({ flags, file, orgId }, io);
      await changing(ports, organizations, (changes) => changes.delete(orgId, operator));
    });
    io.note(`Deleted the organization ${orgId}.`);
  },
});

/** @param flag that the text is the value of. */
function readYes(flag: string, text: string): boolean {
  if (text !== 'yes' && text !== 'no') throw usage(`Write --${flag} yes or --${flag} no.`);
  return text === 'yes';
}

/** An organization as the commands print it. */
const toListed = (organization: Organization): object => ({ ...toListedOrganization(organization), limits: { ...organization.limits } });

/** Works on the organizations of a stopped server's data folder, or of the data plane where none is named. */
export function withOrganizations<T>(
  dir: string | undefined,
  work: (organizations: Organizations, ports: LogPorts) => Promise<T>,
): Promise<T> {
  return withLog(dir, async (ports) => {
    const organizations = new Organizations(ports.views, ports.log, Date.now);
    await organizations.ready;
    return work(organizations, ports);
  });
}

/** Makes or changes organizations, whether or not a process that decides about them is running. */
const changing = <T>(
  { log, views }: LogPorts,
  organizations: Organizations,
  work: (changes: OrganizationChanges) => Promise<T>,
): Promise<T> =>
  whileDeciding(decisionsGroup, log, views, Date.now, () =>
    work(new OrganizationChanges(new Commands(views, log, Date.now), organizations)),
  );

/** Makes a key, whether or not a process that decides about keys is running. */
export async function makeKey({ log, views }: LogPorts, orgId: string, wanted: Omit<WantedKey, 'createdBy'>): Promise<NewKey> {
  const commands = new KeyCommands(new Commands(views, log, Date.now), Date.now);
  return whileDeciding(keysGroup, log, views, Date.now, () => commands.create(orgId, wanted, operator));
}

/** The organization that is named, or the only one. */
export function organizationOf(organizations: Organizations, orgId: string | undefined): Organization {
  const [organization, ...others] = organizations.list().filter((one) => orgId === undefined || one.orgId === orgId);
  if (!organization) throw new Failure('There is no such organization: see `headwater org list`.');
  if (others.length > 0) throw new Failure('There are several organizations: name one with --org; see `headwater org list`.');
  return organization;
}

type Changes = Partial<Record<LimitName, number | undefined>>;

/** Limits as they are typed, such as `points_per_s=1000`; undefined for `none`. */
function readLimits(texts: readonly string[]): Changes {
  const limits: Changes = {};
  for (const text of texts) {
    const [name, number = ''] = text.split('=', 2) as [LimitName, string?];
    if (!limitNames.includes(name)) throw usage(`There is no limit "${name}": use one of ${limitNames.join(', ')}.`);
    if (number !== 'none' && !/^[1-9]\d{0,11}$/.test(number))
      throw usage(`Write --limit ${name}= with a whole number above 0, or with none.`);
    limits[name] = number === 'none' ? undefined : Number(number);
  }
  return limits;
}

function changedLimits(before: OrganizationLimits, changes: Changes): OrganizationLimits {
  const limits = Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([, number]) => number !== undefined));
  const flaw = flawOfLimits(limits);
  if (flaw) throw usage(flaw);
  return limits;
}
