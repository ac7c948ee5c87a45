import type { AuditEntry } from '#model';
import { html, type Html, type Piece } from '../html.js';
import { layout } from '../layout.js';
import { tableOf } from '../parts.js';
import { secondText } from '../times.js';
import type { Visit } from '../visit.js';

export const auditPage = (
  visit: Visit,
  entries: readonly AuditEntry[],
  { isFirst, hasMore }: { readonly isFirst: boolean; readonly hasMore: boolean },
): Html =>
  layout({
    title: 'Audit',
    visit,
    room: '/audit',
    main: html`<h1>What was changed</h1>
      ${entries.length === 0 ? html`<p class="note">Nothing yet.</p>` : tableOf('What was changed', ['Time (UTC)', 'Who', 'What'], entries.map(row))}
      ${
        (!isFirst || hasMore) &&
        html`<nav class="bar" aria-label="Pages">
          ${isFirst ? html`<span></span>` : html`<a href="/audit">Newest</a>`}
          ${hasMore && html`<a rel="next" href="/audit?before=${entries.at(-1)!.id}">Older</a>`}
        </nav>`
      }`,
  });

const row = ({ atMs, by, did, text }: AuditEntry): readonly Piece[] => [
  html`<time datetime="${new Date(atMs).toISOString()}">${secondText(atMs)}</time>`,
  by.name || by.id || 'unknown',
  html`<span class="tag">${did}</span> ${text}`,
];
