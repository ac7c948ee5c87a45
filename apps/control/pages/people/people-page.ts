import type { z } from 'zod';
import { personRoles, type PersonRole } from '#model';
import type { listedInvitation, person } from '../../people/people.js';
import { roleText } from '../account/join-page.js';
import { html, type Html, type Piece } from '../html.js';
import { layout } from '../layout.js';
import { actions, confirmed, seen, tableOf } from '../parts.js';
import { problemNote } from '../refused.js';
import { timeText } from '../times.js';
import type { Visit } from '../visit.js';

type Person = z.output<typeof person>;
type Invitation = z.output<typeof listedInvitation>;

export interface InviteForm {
  readonly email: string;
  readonly role: PersonRole;
  /** Why nobody was invited. */
  readonly problem?: string;
  /** Why something else did not happen. */
  readonly trouble?: string;
}

interface Known {
  readonly members: readonly Person[];
  readonly invitations: readonly Invitation[];
}

export const peoplePage = (visit: Visit, { members, invitations }: Known, nowMs: number, form: InviteForm): Html =>
  layout({
    title: 'People',
    visit,
    room: '/people',
    main: html`<h1>People of ${visit.organization.name}</h1>
      ${problemNote(form.trouble)}
      ${tableOf(
        'People',
        ['E-mail address', 'Role', 'Since', actions],
        members.map((one) => memberRow(one, visit, nowMs)),
      )}
      ${
        invitations.length > 0 &&
        html`<section class="stack" aria-labelledby="invited">
          <h2 id="invited">Invited</h2>
          ${tableOf('Invitations', ['For', 'Role', 'From', 'Good until (UTC)', actions], invitations.map(invitationRow))}
        </section>`
      }
      <section class="card narrow" aria-labelledby="invite">
        <h2 id="invite">Invite somebody</h2>
        ${problemNote(form.problem)}
        <form method="post" action="/people/invite">
          <div>
            <label for="email">E-mail address</label>
            <input type="email" id="email" name="email" value="${form.email}" autocomplete="off" aria-describedby="email-hint" />
            <p class="hint" id="email-hint">Who may use the link. Empty for whoever has it.</p>
          </div>
          <fieldset>
            <legend>Role</legend>
            ${personRoles.toReversed().map(
              (role) =>
                html`<p class="check">
                  <input type="radio" id="role-${role}" name="role" value="${role}" ?checked="${role === form.role}" />
                  <label for="role-${role}">${roleText[role]}</label>
                </p>`,
            )}
          </fieldset>
          <p><button>Make a link</button></p>
        </form>
      </section>`,
  });

const memberRow = ({ id, email, role, since_ms: sinceMs }: Person, { person: { accountId } }: Visit, nowMs: number): readonly Piece[] => [
  html`${email} ${id === accountId && html`<span class="tag">you</span>`}`,
  html`<form class="row" method="post" action="/people/${id}/role">
    <select name="role" aria-label="Role of ${email}">
      ${personRoles.map((one) => html`<option ?selected="${one === role}">${one}</option>`)}
    </select>
    <button class="plain" aria-label="Change the role of ${email}">Change</button>
  </form>`,
  seen(sinceMs, nowMs),
  confirmed('Remove', `/people/${id}/remove`, `Remove ${email}`, 'The account stays, and may be invited again.'),
];

const invitationRow = ({ id, email, role, invited_by: by, expires_ms: expiresMs }: Invitation): readonly Piece[] => [
  email ?? 'whoever has the link',
  role,
  by,
  html`<time datetime="${new Date(expiresMs).toISOString()}">${timeText(expiresMs)}</time>`,
  html`<form method="post" action="/people/invitations/${id}/withdraw"><button class="link">Withdraw</button></form>`,
];

export const invitedPage = (visit: Visit, { email, role, expires_ms: expiresMs }: Invitation, link: string): Html =>
  layout({
    title: 'An invitation',
    visit,
    room: '/people',
    main: html`<h1>An invitation for ${email ?? 'whoever has the link'}</h1>
      <section class="card stack">
        <p>
          Send this link. It makes one person ${role === 'owner' ? 'an' : 'a'} ${role} of ${visit.organization.name}, until
          ${timeText(expiresMs)} UTC. <strong>It is shown this once.</strong>
        </p>
        <pre tabindex="0"><code>${link}</code></pre>
        <p><a class="button" href="/people">Back to the people</a></p>
      </section>`,
  });
