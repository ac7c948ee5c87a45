import { html, type Html, type Piece } from './html.js';
import { agoText, secondText } from './times.js';

export const stateOf = (online: boolean): Html =>
  online ? html`<span class="state on">online</span>` : html`<span class="state">offline</span>`;

/** When something was, for people and exactly. */
export const seen = (ms: number | null, nowMs: number): Html =>
  ms === null
    ? html`<span class="quiet">never</span>`
    : html`<time datetime="${new Date(ms).toISOString()}" title="${secondText(ms)} UTC">${agoText(ms, nowMs)}</time>`;

/** A column of a table: its name, and what its cells hold where that is no text. */
type Column = string | { readonly name: string; readonly kind: 'number' | 'actions' };

/** What may be done with the thing of a row. Its name is for those who do not see the page: the buttons speak for themselves. */
export const actions: Column = { name: 'What to do', kind: 'actions' };

/**
 * A table in a frame that can be scrolled sideways, by keyboard too. On a narrow screen each row is a card, in which every cell is a line
 * that begins with the name of its column. The roles are those that the elements have anyway: some browsers forget them of what is laid
 * out in another way than a table.
 *
 * @param name for those who do not see it.
 * @param rows the cells of each; the first one says what the row is about.
 */
export const tableOf = (name: string, columns: readonly Column[], rows: readonly (readonly Piece[])[], caption?: Piece): Html =>
  html`<div class="scroll" tabindex="0" role="group" aria-label="${name}">
    <table role="table">
      ${
        caption !== undefined &&
        html`<caption>
          ${caption}
        </caption>`
      }
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map(head)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (cells) =>
            html`<tr role="row">
              ${cells.map((piece, at) => cell(columns[at]!, piece, at))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

const named = (column: Column): { readonly name: string; readonly kind: string } =>
  typeof column === 'string' ? { name: column, kind: 'text' } : column;

function head(column: Column): Html {
  const { name, kind } = named(column);
  return html`<th scope="col" role="columnheader" class="${kind}">
    ${kind === 'actions' ? html`<span class="unseen">${name}</span>` : name}
  </th>`;
}

function cell(column: Column, piece: Piece, at: number): Html {
  const { name, kind } = named(column);
  if (at === 0) return html`<th scope="row" role="rowheader" data-label="${name}"><div>${piece}</div></th>`;
  return html`<td role="cell" class="${kind}" data-label="${kind === 'actions' ? '' : name}"><div>${piece}</div></td>`;
}

/** A link in a row of choices. */
export const choice = (name: string, href: string, isChosen: boolean): Html =>
  html`<li>${isChosen ? html`<a href="${href}" aria-current="true">${name}</a>` : html`<a href="${href}">${name}</a>`}</li>`;

/** The ways to the first page of a list and to the next one; nothing where there is one page only. @param names in place of `First page` and `Next page`. */
export const pageLinks = (
  first: string | undefined,
  next: string | undefined,
  names = ['First page', 'Next page'],
  label = 'Pages',
): Piece =>
  (first || next) &&
  html`<nav class="bar" aria-label="${label}">
    ${first ? html`<a href="${first}">${names[0]}</a>` : html`<span></span>`} ${next && html`<a rel="next" href="${next}">${names[1]}</a>`}
  </nav>`;

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
