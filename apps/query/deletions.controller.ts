import { randomUUID } from 'node:crypto';
import { Controller, Delete, HttpCode, Inject, Param } from '@nestjs/common';
import { Access, CallerParam, CLOCK, Fleet, Keyring, Questions, seriesOfSource, SourceId, type Clock } from '#edge';
import { entry, RECORD_LOG, type RecordLog } from '#log';
import { checkMetric, TelemetryError, type AuditNote, type Caller } from '#model';
import { GENERATIONS, type Generations } from '#stores';
import { audit, deletionOf } from '#topics';

/**
 * Deletes what a source has sent. No decider does it: after a crash that might append a deletion twice, and the second one would take what the
 * source has sent between the two.
 */
@Controller('v1/sources/:source_id')
@Access({ scope: 'admin' })
export class DeletionsController {
  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(GENERATIONS) private readonly generations: Generations,
    private readonly keyring: Keyring,
    private readonly fleet: Fleet,
    private readonly questions: Questions,
  ) {}

  @Delete()
  @HttpCode(204)
  source(@CallerParam() caller: Caller, @SourceId() sourceId: string): Promise<void> {
    return this.#delete(caller, sourceId, null, { did: 'source.deleted', about: sourceId, text: sourceId });
  }

  @Delete('metrics/:metric')
  @HttpCode(204)
  metric(@CallerParam() caller: Caller, @SourceId() sourceId: string, @Param('metric') name: string): Promise<void> {
    const metric = checkMetric(name);
    return this.#delete(caller, sourceId, metric, { did: 'metric.deleted', about: sourceId, text: `${metric} of ${sourceId}` });
  }

  async #delete(caller: Caller, sourceId: string, metric: string | null, note: AuditNote): Promise<void> {
    if (!(await this.#isKnown(caller, sourceId)))
      throw new TelemetryError('unknown_source', 'Check the source id: there is nothing of such a source.');
    const { orgId } = caller;
    const atMs = this.clock();
    const told = entry(audit, { ...note, orgId, id: randomUUID(), area: 'sources', count: 0, atMs, by: this.keyring.actor(caller) });
    this.generations.beforeDeletion();
    await this.log.append([...deletionOf({ orgId, sourceId }, metric, atMs), told]);
  }

  /** A source that is on no list may have events all the same: those of the service count for nothing there. */
  async #isKnown(caller: Caller, sourceId: string): Promise<boolean> {
    if (this.fleet.member(caller, sourceId)) return true;
    const { orgId } = caller;
    return this.questions.ask(orgId, seriesOfSource, async ({ series, events }) => {
      if ((await series.metricNames(orgId, sourceId)).length > 0) return true;
      return (await events.tail(orgId, sourceId, 1)).length > 0;
    });
  }
}
