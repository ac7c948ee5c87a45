import { minPasswordChars, type PersonRole } from '#model';
import { html, type Html } from '../html.js';
import { layout } from '../layout.js';
import { problemNote } from '../refused.js';
import { byProvider } from './sign-in-page.js';

export interface JoinForm {
  readonly secret: string;
  readonly organization: string;
  readonly role: PersonRole;
  /** Whose invitation it is; empty for whoever has the link. */
  readonly invited: string;
  /** As it was typed. */
  readonly email: string;
  /** Who has signed in already. */
  readonly person: string | undefined;
  /** The OpenID provider that lets people in too, as they know it; undefined where there is none. */
  readonly provider: string | undefined;
  readonly problem?: string;
}

/** What a role may do, for people. */
export const roleText: Readonly<Record<PersonRole, string>> = {
  viewer: 'Viewer: sees everything',
  member: 'Member: also manages keys, monitors and alert targets',
  owner: 'Owner: also manages people and the organization',
};

export const joinPage = ({ secret, organization, role, invited, email, person, provider, problem }: JoinForm): Html =>
  layout({
    title: `Join ${organization}`,
    main: html`<div class="narrow centre card">
      <h1>Join ${organization}</h1>
      <p>This link makes you one of <strong>${organization}</strong>. ${roleText[role]}.</p>
      ${problemNote(problem)}
      ${
        person !== undefined &&
        html`<form method="post" action="/join/${secret}">
            <input type="hidden" name="join" value="yes" />
            <p><button>Join as ${person}</button></p>
          </form>
          <h2>Or with a new account</h2>`
      }
      <form method="post" action="/join/${secret}">
        <div>
          <label for="email">E-mail address</label>
          <input type="email" id="email" name="email" value="${email}" autocomplete="username" required ?readonly="${invited !== ''}" />
        </div>
        ${passwordField('new')}
        <p><button>Make an account and join</button></p>
      </form>
      ${person === undefined && byProvider('Or join', provider, `/join/${secret}`)}
      ${person === undefined && html`<p class="quiet">You have an account? <a href="/sign-in?next=${`/join/${secret}`}">Sign in</a>, and come back here.</p>`}
    </div>`,
  });

export const resetPage = ({
  secret,
  email,
  problem,
}: {
  readonly secret: string;
  readonly email: string;
  readonly problem?: string;
}): Html =>
  layout({
    title: 'Set another password',
    main: html`<div class="narrow centre card">
      <h1>Set another password</h1>
      <p>For <strong>${email}</strong>. You are then signed in here, and nowhere else any more.</p>
      ${problemNote(problem)}
      <form method="post" action="/reset/${secret}">
        <input type="email" name="email" value="${email}" autocomplete="username" readonly hidden />
        ${passwordField('new')}
        <p><button>Set the password</button></p>
      </form>
    </div>`,
  });

export const passwordField = (kind: 'new' | 'current'): Html =>
  kind === 'current'
    ? html`<div>
        <label for="current">The password that you have</label>
        <input type="password" id="current" name="current" autocomplete="current-password" required />
      </div>`
    : html`<div>
        <label for="password">New password</label>
        <input
          type="password"
          id="password"
          name="password"
          autocomplete="new-password"
          minlength="${minPasswordChars}"
          required
          aria-describedby="rule"
        />
        <p class="hint" id="rule">At least ${minPasswordChars} characters. A few words are easy to remember.</p>
      </div>`;
