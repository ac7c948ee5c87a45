import { command } from './command.js';
import { organizationOf, orgFlag, withPeople } from './people.js';
import { dataFlag } from './target.js';
import { aligned, oneLine } from './text.js';

export const body = command({
  about:
    'Shows who belongs to an organization, and the invitations that can be used. Works on the data plane that the environment names, or, ' +
    'with --data, on the data folder of a server that is stopped.',
  flags: { data: dataFlag, org: orgFlag, json: { about: 'print it as JSON' } },
  examples: ['headwater people list', 'headwater people list --data data --json | jq -r ".people[].email"'],
  async run({ data, org, json }, io) {
    const { people, invitations } = await withPeople(data, async (ports) => {
      const { orgId } = organizationOf(ports, org);
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
