import { Inject, Injectable } from '@nestjs/common';
import type { Processor, StreamRecord } from '#log';
import type { EventBatch } from '#model';
import { EVENT_STORE, type EventStore } from '#stores';
import { events } from '#topics';
import { placed } from './placed.js';

/** Puts every event into the event store, the service's own ones too. */
@Injectable()
export class EventProjector implements Processor<EventBatch> {
  readonly group = 'events';
  readonly inputs = [events];

  constructor(@Inject(EVENT_STORE) private readonly store: EventStore) {}

  process(records: readonly StreamRecord<EventBatch>[]): Promise<void> {
    return this.store.write(placed(records));
  }

  checkpoint(): Promise<void> {
    return this.store.checkpoint();
  }
}
