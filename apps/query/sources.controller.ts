import { Controller, Get, Header, type StreamableFile } from '@nestjs/common';
import type { z } from 'zod';
import { Answers, CallerParam, Fleet, HeldParam, QueryParameters, Slices, SourceId, type Held } from '#edge';
import { TelemetryError, type Caller } from '#model';
import { devicesJson } from './devices-json.js';
import { sourcesQuery } from './parameters.js';

@Controller('v1/sources')
export class SourcesController {
  constructor(
    private readonly fleet: Fleet,
    private readonly slices: Slices,
    private readonly answers: Answers,
  ) {}

  @Get()
  @Header('content-type', 'application/json; charset=utf-8')
  async list(
    @HeldParam() held: Held,
    @CallerParam() caller: Caller,
    @QueryParameters(sourcesQuery) { status, after, limit }: z.output<typeof sourcesQuery>,
  ): Promise<Buffer | StreamableFile> {
    const online = await this.slices.finish(caller.orgId, this.fleet.online(caller));
    const pages = this.fleet.members(caller, online, after);
    return this.answers.of(
      held,
      devicesJson(pages, (member) => !status || member.online === (status === 'online'), limit),
    );
  }

  @Get(':source_id')
  one(@CallerParam() caller: Caller, @SourceId() sourceId: string): unknown {
    const member = this.fleet.member(caller, sourceId);
    if (!member) throw new TelemetryError('unknown_source', 'Check the source id: no such source has sent a point or is connected.');
    return { source_id: member.sourceId, online: member.online, last_seen_ms: member.lastSeenMs };
  }
}
