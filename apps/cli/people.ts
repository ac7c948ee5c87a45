import { defaultUrl, serverUrl } from '#client';
import { Accounts, Commands, Organizations, Passwords, People, PublicUrl, SignInLimits, whileDeciding } from '#edge';
import { normalEmail, TelemetryError, type Account, type Organization } from '#model';
import { decisionsGroup } from '#topics';
import { Failure, usage } from './failure.js';
import { withLog } from './target.js';

export const orgFlag = { value: 'ID', about: 'an organization, where there are several; see `headwater org list`' } as const;

interface PeoplePorts {
  readonly people: People;
  readonly accounts: Accounts;
  readonly organizations: Organizations;
}

/** Works on the people of a stopped server's data folder, or of the data plane where none is named; decides in this process too. */
export function withPeople<T>(dir: string | undefined, work: (ports: PeoplePorts) => Promise<T>): Promise<T> {
  return withLog(dir, async ({ log, views }, { readConfig }) => {
    const url = readConfig(process.env).publicUrl || serverUrl(process.env['HEADWATER_URL'] || defaultUrl);
    const [organizations, accounts] = [new Organizations(views, log, Date.now), new Accounts(views)];
    const people = new People(
      views,
      Date.now,
      new Commands(views, log, Date.now),
      accounts,
      new Passwords(),
      new PublicUrl(url),
      new SignInLimits(Date.now),
    );
    await Promise.all([organizations.ready, people.ready]);
    return whileDeciding(decisionsGroup, log, views, Date.now, () => work({ people, accounts, organizations })).catch(inWords);
  });
}

/** A decision against it is for the operator to read. */
function inWords(error: unknown): never {
  if (error instanceof TelemetryError && !error.retryable && error.kind !== 'internal')
    throw new Failure(error.message, undefined, { cause: error });
  throw error;
}

/** The organization that is named, or the only one. */
export function organizationOf({ organizations }: PeoplePorts, orgId: string | undefined): Organization {
  const [organization, ...others] = organizations.list().filter((one) => orgId === undefined || one.orgId === orgId);
  if (!organization) throw new Failure('There is no such organization: see `headwater org list`.');
  if (others.length > 0) throw new Failure('There are several organizations: name one with --org; see `headwater org list`.');
  return organization;
}

export function accountOf({ accounts }: PeoplePorts, text: string): Account {
  const email = normalEmail(text);
  if (email === undefined) throw usage(`"${text}" is not an e-mail address.`);
  const account = accounts.byEmail(email);
  if (!account) throw new Failure(`Nobody has an account with the address ${email}: see \`headwater people list\`.`);
  return account;
}
