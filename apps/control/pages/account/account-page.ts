import type { ListedSession } from '#edge';
import { html, type Html, type Piece } from '../html.js';
import { layout } from '../layout.js';
import { actions, confirmed, seen, tableOf } from '../parts.js';
import { problemNote } from '../refused.js';
import type { Visit } from '../visit.js';
import { passwordField } from './join-page.js';

export interface AccountState {
  readonly sessions: readonly ListedSession[];
  /** Whether the person signs in with a password; else it is by the OpenID provider only. */
  readonly hasPassword: boolean;
  readonly nowMs: number;
  /** What is wrong with the password that was typed. */
  readonly problem?: string;
  /** Why something else was not done. */
  readonly trouble?: string;
}

/** A person: organizations and sessions. */
export function accountPage(visit: Visit, { sessions, hasPassword, nowMs, problem, trouble }: AccountState): Html {
  return layout({
    title: 'Your account',
    visit,
    main: html`<h1>Your account</h1>
      <p>You have signed in as <strong>${visit.person.email}</strong>.</p>
      ${problemNote(trouble)} ${organizations(visit)}
      ${hasPassword ? otherPassword(visit, problem) : html`<p>You sign in by the provider of your organization. If you want a password too, <a href="/forgot">set one</a>.</p>`}
      <section class="stack" aria-labelledby="sessions">
        <h2 id="sessions">Where you have signed in</h2>
        ${tableOf(
          'Where you have signed in',
          ['Browser', 'Last used', 'From', 'Signed in', actions],
          sessions.map((session) => sessionRow(session, visit, nowMs)),
        )}
        <p class="quiet">A session that is not used for 30 days ends by itself.</p>
      </section>
      ${leaving(visit)}`,
  });
}

const otherPassword = ({ person }: Visit, problem: string | undefined): Html =>
  html`<section class="stack narrow" aria-labelledby="other-password">
    <h2 id="other-password">Another password</h2>
    ${problemNote(problem)}
    <form method="post" action="/account/password">
      <input type="email" name="email" value="${person.email}" autocomplete="username" readonly hidden />
      ${passwordField('current')} ${passwordField('new')}
      <p><button>Set the password</button></p>
    </form>
    <p class="quiet">It ends all other sessions.</p>
  </section>`;

const leaving = ({ organization: { orgId, name } }: Visit): Html =>
  html`<section class="stack narrow" aria-labelledby="leave">
    <h2 id="leave">Leave ${name}</h2>
    <p>You do not see its devices any more then. Your account stays, and so do the keys that you have made.</p>
    ${confirmed('Leave', `/account/leave/${encodeURIComponent(orgId)}`, `Leave ${name}`, 'To come back you need an invitation.')}
  </section>`;

const sessionRow = (session: ListedSession, { person }: Visit, nowMs: number): readonly Piece[] => [
  html`${browserOf(session.agent)} ${session.sessionId === person.sessionId && html`<span class="tag">this one</span>`}`,
  seen(session.usedMs, nowMs),
  session.usedFrom || 'unknown',
  seen(session.createdMs, nowMs),
  html`<form method="post" action="/account/sessions/${session.sessionId}/end"><button class="link">End</button></form>`,
];

function organizations({ organization, organizations: all }: Visit): Html | undefined {
  if (all.length < 2) return undefined;
  return html`<section class="stack" aria-labelledby="organizations">
    <h2 id="organizations">Your organizations</h2>
    <form class="row" method="post" action="/account/organization">
      <div class="grow">
        <label for="organization">The one to look at</label>
        <select id="organization" name="organization">
          ${all.map(({ orgId, name }) => html`<option value="${orgId}" ?selected="${orgId === organization.orgId}">${name}</option>`)}
        </select>
      </div>
      <button>Change</button>
    </form>
  </section>`;
}

const browsers = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari', 'curl'];
const systems = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'];
const named: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' };

/** A browser in two words; what it calls itself where those are not known. */
function browserOf(agent: string): string {
  const [browser, system] = [browsers, systems].map((names) => names.find((name) => agent.includes(name)));
  if (!browser) return agent.slice(0, 40) || 'unknown';
  return [browser, system].flatMap((name) => (name ? (named[name] ?? name) : [])).join(' on ');
}
