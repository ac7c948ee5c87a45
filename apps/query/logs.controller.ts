import { Controller, Get, Header, Inject, type StreamableFile } from '@nestjs/common';
import type { z } from 'zod';
import { Answers, CLOCK, HeldParam, QueryParameters, Questions, SourceId, type Clock, type Held } from '#edge';
import { parseWindow, type LogEntry } from '#model';
import { logsQuery } from './parameters.js';
import { arrayJson } from './series-json.js';

const defaultLimit = 1000;
/** Memory of an entry without its value, about. */
const entryBytes = 200;

@Controller('v1/sources/:source_id/logs')
export class LogsController {
  constructor(
    private readonly questions: Questions,
    private readonly answers: Answers,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @Header('content-type', 'application/json; charset=utf-8')
  async logs(
    @HeldParam() held: Held,
    @SourceId() sourceId: string,
    @QueryParameters(logsQuery) { tail, name, limit = defaultLimit, ...times }: z.output<typeof logsQuery>,
  ): Promise<Buffer | StreamableFile> {
    const { orgId } = held;
    const window = tail === undefined ? parseWindow(times, this.clock()) : undefined;
    const entries = await this.questions.ask(orgId, tail ?? limit, ({ events }) =>
      window ? events.window(orgId, sourceId, window, limit, name) : events.tail(orgId, sourceId, tail!, name),
    );
    const bytes = entries.reduce((sum, { value }) => sum + entryBytes + value.length, 0);
    return this.answers.of(
      held,
      arrayJson(entries, (entry, json) => json.text(JSON.stringify(logEntry(entry)))),
      bytes,
    );
  }
}

const logEntry = ({ timestampMs, metric, value, tags }: LogEntry): unknown => ({ timestamp_ms: timestampMs, metric, value, tags });
