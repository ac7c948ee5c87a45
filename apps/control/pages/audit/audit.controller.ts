import { Get } from '@nestjs/common';
import { z } from 'zod';
import { QueryParameters } from '#edge';
import { AuditBook } from '../../people/audit-book.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { ForVisitor, VisitParam, type Visit } from '../visit.js';
import { auditPage } from './audit-page.js';

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
