import { defaultUrl, serverUrl } from '#client';
import { Accounts, Commands, operator, Organizations, Passwords, People, PublicUrl, SignInLimits, whileDeciding } from '#edge';
import { type Account, normalEmail, personRoles, TelemetryError } from '#model';
import { decisionsGroup } from '#topics';
import { Failure, usage } from './failure.js';
import { organizationOf } from './org.js';
import { dataFlag, withLog } from './target.js';
import { command } from './command.js';
import { aligned, oneLine } from './text.js';

const orgFlag = { value: 'ID', about: 'an organization, where there are several; see `headwater org list`' } as const;

interface PeoplePorts {
  readonly people: People;
  readonly accounts: Accounts;
  readonly organizations: Organizations;
}

/** Works on the people of a stopped server's data folder, or of the data plane where none is named; decides in this process too. */
function withPeople<T>(dir: string | undefined, work: (ports: PeoplePorts) => Promise<T>): Promise<T> {
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

function accountOf({ accounts }: PeoplePorts, text: string): Account {
  const email = normalEmail(text);
  if (email === undefined) throw usage(`"${text}" is not an e-mail address.`);
  const account = accounts.byEmail(email);
  if (!account) throw new Failure(`Nobody has an account with the address ${email}: see \`headwater people list\`.`);
  return account;
}

export const list = command({
  about:
    'Shows who belongs to an organization, and the invitations that can be used. Works on the data plane that the environment names, or, ' +
    'with --data, on the data folder of a server that is stopped.',
  flags: { data: dataFlag, org: orgFlag, json: { about: 'print it as JSON' } },
  examples: ['headwater people list', 'headwater people list --data data --json | jq -r ".people[].email"'],
  async run({ data, org, json }, io) {
    const { people, invitations } = await withPeople(data, async (ports) => {
      const { orgId } = organizationOf(ports.organizations, org);
      return {
        people: ports.accounts.membersOf(orgId).map(({ accountId, role, sinceMs }) => ({
          id: accountId,
          email: ports.accounts.get(accountId)?.email ?? '',
          role,
          since_ms: sinceMs,
        })),
        invitations: ports.people.invitationsOf(orgId).map(({ invitationId, role, email, expiresMs }) => ({
          id: invitationId,
          email: email || null,
          role,
          expires_ms: expiresMs,
        })),
      };
    });
    if (json) return io.data(`${JSON.stringify({ people, invitations }, null, 2)}\n`);
    const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
    const rows = people.map(({ email, role, since_ms: sinceMs }) => [oneLine(email), role, `since ${day(sinceMs)}`]);
    const open = invitations.map(({ email, role, expires_ms: untilMs }) => [oneLine(email ?? '-'), role, `invited until ${day(untilMs)}`]);
    return io.data(aligned([['EMAIL', 'ROLE', ''], ...rows, ...open]));
  },
});

export const invite = command({
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
    const { link } = await withPeople(data, async (ports) =>
      ports.people.invite(organizationOf(ports.organizations, org).orgId, role, email, operator),
    );
    await io.data(`${link}\n`);
    io.note('This link is shown once: give it to the person now.');
  },
});

export const remove = command({
  about:
    'The person does not belong to the organization any more; the account stays, and so do the keys that the person has made. Works on the ' +
    'data plane that the environment names, or, with --data, on the data folder of a server that is stopped.',
  argument: { name: 'EMAIL', about: 'the address of the person' },
  flags: { data: dataFlag, org: orgFlag },
  examples: ['headwater people remove ada@example.com --data data'],
  async run({ data, org }, io, email) {
    const name = await withPeople(data, async (ports) => {
      const organization = organizationOf(ports.organizations, org);
      await ports.people.remove(organization.orgId, accountOf(ports, email).accountId, operator);
      return organization.name;
    });
    io.note(`Removed ${email} from ${name}.`);
  },
});

export const reset = command({
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
