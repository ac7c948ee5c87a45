import {
  boundSources,
  claimScopes,
  maxBoundSources,
  mayAs,
  scopes as allScopes,
  type ApiKey,
  type KeyUse,
  type PersonRole,
  type Scope,
} from '#model';
import { html, type Html, type Piece } from '../html.js';
import { layout } from '../layout.js';
import { actions, confirmed, ingestLine, seen, tableOf } from '../parts.js';
import { problemNote } from '../refused.js';
import type { Visit } from '../visit.js';

export interface ShownKey {
  readonly key: ApiKey;
  readonly use: KeyUse | undefined;
  /** Who has made it, for people. */
  readonly maker: string;
}

/** A form as it was filled in. */
export interface KeyForm {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Ids or beginnings of ids, with commas or blanks between. */
  readonly sources: string;
  readonly problem?: string;
}

/** Keys on the page; the API lists all. */
const maxKeys = 200;

export const keysPage = (visit: Visit, keys: readonly ShownKey[], nowMs: number, form: KeyForm): Html =>
  layout({
    title: 'Keys',
    visit,
    room: '/keys',
    main: html`<h1>API keys</h1>
      ${
        keys.length === 0
          ? html`<p>No key yet: devices and programs need one to send points and to read.</p>`
          : tableOf(
              'API keys',
              ['Name', 'Key', 'May', 'Sources', 'Last used', 'Made', actions],
              keys.slice(0, maxKeys).map((one) => row(one, nowMs)),
            )
      }
      ${keys.length > maxKeys && html`<p class="quiet">The oldest ${maxKeys} of ${keys.length}: <code>GET /api/api-keys</code> lists all.</p>`}
      <section class="card narrow" aria-labelledby="new">
        <h2 id="new">Make a key</h2>
        ${problemNote(form.problem)} ${newForm(form, visit.person.role)}
      </section>`,
  });

const row = ({ key, use, maker }: ShownKey, nowMs: number): readonly Piece[] => [
  key.name,
  html`<code class="whole">${key.prefix}…${key.suffix}</code>`,
  key.scopes.join(', '),
  boundSources(key.sources) === undefined ? 'all' : html`<code>${key.sources.join(', ')}</code>`,
  html`${seen(use?.usedMs ?? null, nowMs)} ${use?.address && html`<span class="quiet">from ${use.address}</span>`}`,
  html`${seen(key.createdMs, nowMs)} ${maker && html`<span class="quiet">by ${maker}</span>`}`,
  confirmed('Delete', `/keys/${key.keyId}/delete`, `Delete ${key.name}`, 'It stops working everywhere.'),
];

const scopeText: Readonly<Record<Scope, string>> = {
  read: 'read: needed for reading only where the organization enforces it',
  write: 'write: sends points',
  admin: 'admin: manages keys, monitors and alert targets',
};

const newForm = ({ name, scopes, sources }: KeyForm, role: PersonRole): Html =>
  html`<form method="post" action="/keys">
    <div>
      <label for="name">Name</label>
      <input id="name" name="name" value="${name}" maxlength="100" required aria-describedby="name-hint" autocomplete="off" />
      <p class="hint" id="name-hint">What the key is for, such as pump-7.</p>
    </div>
    <fieldset>
      <legend>What it may do</legend>
      ${(mayAs(role, 'admin_keys') ? allScopes : claimScopes).map(
        (scope) =>
          html`<p class="check">
            <input type="checkbox" id="scope-${scope}" name="scope" value="${scope}" ?checked="${scopes.includes(scope)}" />
            <label for="scope-${scope}">${scopeText[scope]}</label>
          </p>`,
      )}
    </fieldset>
    <div>
      <label for="sources">Only for these sources</label>
      <input id="sources" name="sources" value="${sources}" aria-describedby="sources-hint" autocomplete="off" />
      <p class="hint" id="sources-hint">
        Up to ${maxBoundSources} ids, or beginnings of ids that end with *, such as press-7, line-a.* Empty for all. A key of a device is
        best for that device only.
      </p>
    </div>
    <p><button>Make the key</button></p>
  </form>`;

export const createdPage = (visit: Visit, { name }: ApiKey, secret: string, url: string): Html =>
  layout({
    title: 'A new key',
    visit,
    room: '/keys',
    main: html`<h1>The key ${name}</h1>
      <section class="card stack">
        <p>It works now. <strong>It is shown this once</strong>: nobody can show it again.</p>
        <pre tabindex="0"><code>${secret}</code></pre>
        <p>Send a point with it:</p>
        ${ingestLine(url, secret)}
        <p><a class="button" href="/keys">I have stored it</a></p>
      </section>`,
  });
