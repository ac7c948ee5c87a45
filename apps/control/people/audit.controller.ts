import { Controller, Get } from '@nestjs/common';
import type { z } from 'zod';
import { Access, CallerParam, QueryParameters } from '#edge';
import type { Caller } from '#model';
import { AuditBook } from './audit-book.js';
import { auditQuery, toAuditEntry, type auditList } from './audit.js';

const usualLimit = 100;

/** What was changed in the caller's organization, and who has done it. */
@Controller('api/audit')
@Access({ may: 'audit', payment: false })
export class AuditController {
  constructor(private readonly book: AuditBook) {}

  @Get()
  list(
    @CallerParam() { orgId }: Caller,
    @QueryParameters(auditQuery) { limit = usualLimit, before }: z.output<typeof auditQuery>,
  ): z.output<typeof auditList> {
    const found = this.book.list(orgId, limit + 1, before);
    const entries = found.slice(0, limit).map(toAuditEntry);
    return { entries, next: found.length > limit ? entries.at(-1)!.id : null };
  }
}
