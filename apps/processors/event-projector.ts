import type { Processor, StreamRecord } from '#log';
import type { EventBatch } from '#model';
import type { Generation } from '#stores';
import { events } from '#topics';
import { placed } from './placed.js';

/** Puts every event into the event store of a generation, the service's own ones too. */
export class EventProjector implements Processor<EventBatch> {
  readonly group: string;
  readonly inputs = [events];

  constructor(private readonly generation: Pick<Generation, 'suffix' | 'events'>) {
    this.group = `events${generation.suffix}`;
  }

  process(records: readonly StreamRecord<EventBatch>[]): Promise<void> {
    return this.generation.events.write(placed(records));
  }

  checkpoint(): Promise<void> {
    return this.generation.events.checkpoint();
  }
}
