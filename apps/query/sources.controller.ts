import { Controller, Get } from '@nestjs/common';
import type { z } from 'zod';
import { CallerParam } from '#edge';
import { TelemetryError, type Caller } from '#model';
import { Fleet, type FleetMember } from './fleet.js';
import { QueryParameters, SourceId, sourcesQuery } from './parameters.js';

@Controller('v1/sources')
export class SourcesController {
  constructor(private readonly fleet: Fleet) {}

  @Get()
  list(@CallerParam() { orgId }: Caller, @QueryParameters(sourcesQuery) { status }: z.output<typeof sourcesQuery>): unknown {
    const members = this.fleet.members(orgId);
    const wanted = status ? members.filter(({ online }) => online === (status === 'online')) : members;
    return { devices: wanted.map(device) };
  }

  @Get(':source_id')
  one(@CallerParam() { orgId }: Caller, @SourceId() sourceId: string): unknown {
    const member = this.fleet.member(orgId, sourceId);
    if (!member) throw new TelemetryError('unknown_source', 'Check the source id: no such source has sent a point or is connected.');
    return device(member);
  }
}

const device = ({ sourceId, online, lastSeenMs }: FleetMember): unknown => ({ source_id: sourceId, online, last_seen_ms: lastSeenMs });
