import { html, type Html } from '../html.js';
import { layout } from '../layout.js';
import { problemNote } from '../refused.js';

export interface SignInForm {
  /** Where to go on, on this server. */
  readonly next: string;
  /** As it was typed. */
  readonly email: string;
  /** The OpenID provider that lets people in too, as they know it; undefined where there is none. */
  readonly provider: string | undefined;
  /** Why somebody was not let in. */
  readonly problem?: string;
}

export const signInPage = ({ next, email, provider, problem }: SignInForm): Html =>
  layout({
    title: 'Sign in',
    main: html`<div class="narrow centre card">
      <h1>Sign in</h1>
      ${problemNote(problem)}
      <form method="post" action="/sign-in">
        <input type="hidden" name="next" value="${next}" />
        <div>
          <label for="email">E-mail address</label>
          <input type="email" id="email" name="email" value="${email}" autocomplete="username" required ?autofocus="${email === ''}" />
        </div>
        <div>
          <label for="password">Password</label>
          <input type="password" id="password" name="password" autocomplete="current-password" required ?autofocus="${email !== ''}" />
        </div>
        <p><button>Sign in</button></p>
      </form>
      ${byProvider('Or sign in', provider, next)}
      <p class="quiet">
        No account yet? An owner of your organization can send you a link. Forgotten the password?
        <a href="/forgot">Set another one</a>.
      </p>
    </div>`,
  });

/** The way in by the OpenID provider, where there is one. @param next where to go on. */
export const byProvider = (what: string, provider: string | undefined, next: string): Html | undefined =>
  provider === undefined
    ? undefined
    : html`<p><a class="button plain" href="/sign-in/openid?next=${next}">${what} with ${provider}</a></p>`;
