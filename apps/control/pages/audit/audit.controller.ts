import { Get } from '@nestjs/common';
import { z } from 'zod';
import { QueryParameters } from '#edge';
import type { AuditEntry } from '#model';
import { AuditBook } from '../../people/audit-book.js';
import { type Html, html, type Piece } from '../html.js';
import { Pages } from '../pages.js';
import { ForVisitor, type Visit, VisitParam } from '../visit.js';
import { layout } from '../layout.js';
import { pageLinks, tableOf } from '../parts.js';
import { secondText } from '../times.js';

/** Entries on one page. */
const pageEntries = 100;

const auditQuery = z.object({ before: z.string().max(200).optional() });

/** What was changed in an organization, and who has done it. */
@Pages('audit')
export class AuditPages {
  constructor(private readonly book: AuditBook) {}

  @Get()
  @ForVisitor('audit', { payment: false })
  list(@VisitParam() visit: Visit, @QueryParameters(auditQuery) { before }: z.output<typeof auditQuery>): Html {
    const found = this.book.list(visit.caller.orgId, pageEntries + 1, before);
    return auditPage(visit, found.slice(0, pageEntries), { isFirst: before === undefined, hasMore: found.length > pageEntries });
  }
}

const auditPage = (
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
      ${pageLinks(isFirst ? undefined : '/audit', hasMore ? `/audit?before=${encodeURIComponent(entries.at(-1)!.id)}` : undefined, [
        'Newest',
        'Older',
      ])}`,
  });

const row = ({ atMs, by, did, text }: AuditEntry): readonly Piece[] => [
  html`<time datetime="${new Date(atMs).toISOString()}">${secondText(atMs)}</time>`,
  by.name || by.id || 'unknown',
  html`<span class="tag">${did}</span> ${text}`,
];
