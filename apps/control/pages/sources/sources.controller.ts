import { Get, Inject } from '@nestjs/common';
import { z } from 'zod';
import { CLOCK, PublicUrl, QueryParameters, SourceId, type Clock } from '#edge';
import { checkMetric, checkSourceId } from '#model';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { ForVisitor, VisitParam, type Visit } from '../visit.js';
import { SourceLister } from './source-list.js';
import { sourcePage } from './source-page.js';
import { SourceReader } from './source-reader.js';
import { sourcesPage } from './sources-page.js';
import { shownWindow, windowNames } from './window.js';

/** An empty text is what a form sends for a field that nobody has filled in. */
const listQuery = z.object({
  q: z.string().trim().max(256).default(''),
  status: z.enum(['online', 'offline']).optional(),
  after: z.string().transform(checkSourceId).optional(),
});

const sourceQuery = z.object({
  last: z.enum(windowNames).default('24h'),
  end: z.string().optional(),
  after: z.string().transform(checkMetric).optional(),
});

/** What there is to look at. */
@Pages()
export class SourcesPages {
  constructor(
    private readonly lister: SourceLister,
    private readonly reader: SourceReader,
    private readonly publicUrl: PublicUrl,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ForVisitor('read')
  async list(
    @VisitParam() visit: Visit,
    @QueryParameters(listQuery) { q: search, status, after }: z.output<typeof listQuery>,
  ): Promise<Html> {
    const question = { search, status, after };
    return sourcesPage(visit, question, await this.lister.list(visit.caller, question), this.publicUrl.link(''));
  }

  @Get('sources/:source_id')
  @ForVisitor('read')
  async source(
    @VisitParam() visit: Visit,
    @SourceId() sourceId: string,
    @QueryParameters(sourceQuery) { last, end, after }: z.output<typeof sourceQuery>,
  ): Promise<Html> {
    const shown = shownWindow(last, end, this.clock());
    return sourcePage(visit, await this.reader.read(visit.caller, sourceId, { ...shown, after }), shown, after);
  }
}
