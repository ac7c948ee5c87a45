import { html, type Html, type Piece } from './html.js';
import { agoText, secondText } from './times.js';

export const stateOf = (online: boolean): Html =>
  online ? html`<span class="state on">online</span>` : html`<span class="state">offline</span>`;

/** When something was, for people and exactly. */
export const seen = (ms: number | null, nowMs: number): Html =>
  ms === null
    ? html`<span class="quiet">never</span>`
    : html`<time datetime="${new Date(ms).toISOString()}" title="${secondText(ms)} UTC">${agoText(ms, nowMs)}</time>`;

/** The head of a column: its name, which is only for those who do not see the page where the cells speak for themselves. */
type Head = string | { readonly name: string; readonly kind: 'number' | 'unseen' };

const headOf = (head: Head): Html => {
  if (typeof head === 'string') return html`<th scope="col">${head}</th>`;
  const { name, kind } = head;
  return kind === 'number'
    ? html`<th scope="col" class="number">${name}</th>`
    : html`<th scope="col"><span class="unseen">${name}</span></th>`;
};

/**
 * A table in a frame that can be scrolled sideways, by keyboard too.
 *
 * @param name for those who do not see it.
 * @param rows each a `tr`.
 */
export const tableOf = (name: string, heads: readonly Head[], rows: readonly Html[], caption?: Piece): Html =>
  html`<div class="scroll" tabindex="0" role="group" aria-label="${name}">
    <table>
      ${
        caption !== undefined &&
        html`<caption>
          ${caption}
        </caption>`
      }
      <thead>
        <tr>
          ${heads.map(headOf)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;

/** A button that asks once more before it does something that cannot be taken back. */
export const confirmed = (name: string, action: string, button: string, consequence: string): Html =>
  html`<details class="confirm">
    <summary>${name}</summary>
    <form method="post" action="${action}">
      <p class="quiet">${consequence}</p>
      <button class="danger">${button}</button>
    </form>
  </details>`;

/** How to send a point from a shell. @param key perhaps a variable that holds it. */
export const ingestLine = (url: string, key: string): Html =>
  html`<pre tabindex="0"><code>curl -sS ${url}/ingest -H "x-api-key: ${key}" -H "content-type: application/json" \\
  -d '{"source_id": "greenhouse", "points": [{"metric": "air.temperature", "value": 21.5}]}'</code></pre>`;
