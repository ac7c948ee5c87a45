import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, Fleet, Slices, type Clock, type FleetMember } from '#edge';
import type { Caller } from '#model';
import { AlertBook } from '../../alerts/alert-book.js';

/** Sources on one page. */
export const pageSources = 50;

const maxCountedAlerts = 100;

export interface ListQuestion {
  /** A part of the ids that are wanted, in either case. */
  readonly search: string;
  readonly status?: 'online' | 'offline' | undefined;
  /** Only sources behind this id. */
  readonly after?: string | undefined;
}

export interface ListedSource extends FleetMember {
  /** Counted up to a hundred. */
  readonly openAlerts: number;
}

export interface SourceList {
  readonly nowMs: number;
  readonly sources: readonly ListedSource[];
  /** Whether more follow. */
  readonly hasMore: boolean;
  readonly total: number;
  readonly online: number;
}

/** Lists the sources of a caller, a page at a time. */
@Injectable()
export class SourceLister {
  constructor(
    private readonly fleet: Fleet,
    private readonly slices: Slices,
    private readonly alerts: AlertBook,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async list(caller: Caller, question: ListQuestion): Promise<SourceList> {
    const { orgId } = caller;
    const online = await this.slices.finish(orgId, this.fleet.online(caller));
    const total = await this.slices.finish(orgId, this.fleet.count(caller, online));
    const found = await this.slices.finish(orgId, matching(this.fleet.members(caller, online, question.after), question));
    const sources = found.slice(0, pageSources).map((member) => ({ ...member, openAlerts: this.#openAlerts(caller, member.sourceId) }));
    return { nowMs: this.clock(), sources, hasMore: found.length > pageSources, total, online: online.size };
  }

  /** One source has one record, so that this is one step. */
  #openAlerts(caller: Caller, sourceId: string): number {
    const steps = this.alerts.list(caller, { sourceId, status: 'open', limit: maxCountedAlerts });
    for (let step = steps.next(); ; step = steps.next()) if (step.done) return Math.min(step.value.length, maxCountedAlerts);
  }
}

/** One more than a page has, where there are so many; looks at a page of the view at a time. */
function* matching(pages: Iterable<readonly FleetMember[]>, { search, status }: ListQuestion): Generator<void, readonly FleetMember[]> {
  const found: FleetMember[] = [];
  const text = search.toLowerCase();
  for (const page of pages) {
    for (const member of page) {
      if (status && member.online !== (status === 'online')) continue;
      if (member.sourceId.toLowerCase().includes(text) && found.push(member) > pageSources) return found;
    }
    yield;
  }
  return found;
}
