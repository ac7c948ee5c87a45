import { expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { forever, type EventBatch } from '#model';
import type { Placed } from '#stores';
import { QuestDbEventStore } from './event-store.js';
import { Figures, Outage } from './delivery.js';
import { Kept } from './kept.js';
import { newest } from './tables.js';

const mebibyte = 1 << 20;

const anEvent = (offset: number): Placed<EventBatch> => {
  const event = { metric: 'm', timestampMs: 1, value: 'x'.repeat(mebibyte), isJson: false, tags: '', place: 0, ordinal: 0 };
  return { partition: 0, offset, value: { orgId: 'o', sourceId: 's', receivedMs: 1, origin: 'source', events: [event] } };
};

it('holds a bounded number of bytes of events however many writes there are, and takes all of them', async () => {
  const sent = Promise.withResolvers<void>();
  const client = { send: () => sent.promise };
  const path = { visibility: { of: () => Promise.resolve() }, outage: new Outage(), figures: new Figures(), tables: ['events_g1'] };
  const kept = new Kept({ rows: () => Promise.resolve([]) }, 'kept_g1');
  const writer = new QuestDbEventStore(client as never, path, {} as never, {
    layout: () => Promise.resolve(newest),
    kept,
    deletions: {} as never,
  });
  const writes = Array.from({ length: 200 }, (_, offset) => writer.write([anEvent(offset)], forever));
  await setImmediate();
  expect(writer.heldBytes / mebibyte).toBeGreaterThan(63);
  expect(writer.heldBytes / mebibyte).toBeLessThan(66);
  sent.resolve();
  await Promise.all(writes);
  expect([writer.heldBytes, path.figures.rows.events]).toEqual([0, 200]);
});
