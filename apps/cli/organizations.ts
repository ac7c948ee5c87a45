import { Commands, KeyCommands, operator, OrganizationChanges, Organizations, whileDeciding, type NewKey, type WantedKey } from '#edge';
import { flawOfLimits, limitNames, type LimitName, type Organization, type OrganizationLimits } from '#model';
import { decisionsGroup, keysGroup } from '#topics';
import { usage } from './failure.js';
import { withLog, type LogPorts } from './target.js';

/** The flag of the commands that limit an organization. */
export const limitFlag = {
  value: 'NAME=NUMBER',
  about: `a limit of its own, or NAME=none for none; may be repeated. Names: ${limitNames.join(', ')}`,
  many: true,
} as const;

export const paymentFlag = {
  value: 'YES',
  about: 'yes or no: whether it has a payment method on file, without which its keys get 402',
} as const;

/** @param flag that the text is the value of. */
export function readYes(flag: string, text: string): boolean {
  if (text !== 'yes' && text !== 'no') throw usage(`Write --${flag} yes or --${flag} no.`);
  return text === 'yes';
}

/** An organization as the commands print it. */
export const toListed = ({ orgId, name, paymentMethodOnFile, enforceReadScope, createdMs, limits }: Organization): object => ({
  id: orgId,
  name,
  payment_method_on_file: paymentMethodOnFile,
  enforce_read_scope: enforceReadScope,
  created_ms: createdMs,
  limits: { ...limits },
});

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
export const changing = <T>(
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

type Changes = Partial<Record<LimitName, number | undefined>>;

/** Limits as they are typed, such as `points_per_s=1000`; undefined for `none`. */
export function readLimits(texts: readonly string[]): Changes {
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

export function changedLimits(before: OrganizationLimits, changes: Changes): OrganizationLimits {
  const limits = Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([, number]) => number !== undefined));
  const flaw = flawOfLimits(limits);
  if (flaw) throw usage(flaw);
  return limits;
}
