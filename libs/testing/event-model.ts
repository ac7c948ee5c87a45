import { type DeviceEvent, type EventBatch, type LogEntry, type TagMap, tagsKey, tagsOf, type Tags } from '#model';
import type { Placed } from '#stores';
import type { Random } from './random.js';

/** What happened to some sources of one organization, as batches in log order, with all that clients do: resend whole, in part, late. */
export interface EventHistory {
  readonly orgId: string;
  readonly sourceIds: readonly string[];
  readonly metrics: readonly string[];
  readonly deliveries: readonly Placed<EventBatch>[];
}

type Sent = Pick<DeviceEvent, 'metric' | 'timestampMs' | 'value' | 'isJson' | 'tags'>;

const firstMs = 1_700_000_000_000;
const metrics = ['a', 'B', 'é', '\u{1F600}', '\uFFFD', "o'clock"];
const tagSets: readonly Tags[] = [
  '',
  '',
  tagsKey({ a: '1' }),
  tagsKey({ a: '1', b: '2' }),
  tagsKey({ b: '2', a: '1' }),
  '[["__proto__","x"]]',
];

/** Few times, names and values, so that many events meet; some of the batches delete a source, or a metric of it. */
export function anEventHistory(random: Random, orgId: string): EventHistory {
  const sourceIds = ['s', 's-2'];
  const bodies = Array.from({ length: random.whole(1, 12) }, () => ({
    sourceId: random.pick(sourceIds),
    sent: Array.from({ length: random.whole(1, 12) }, () => anEventSent(random)),
  }));
  const again = bodies.flatMap(({ sourceId, sent }) => {
    const cut = random.whole(0, sent.length);
    const parts = random.chance(0.3) ? [sent] : random.chance(0.4) ? [sent.slice(0, cut), sent.slice(cut)] : [];
    return parts.map((part) => ({ sourceId, sent: part }));
  });
  const deliveries = random.shuffled([...bodies, ...again]).map(({ sourceId, sent }, offset) => {
    const head = { orgId, sourceId, receivedMs: firstMs + random.whole(0, 3), origin: 'source' as const };
    const value: EventBatch = random.chance(0.1)
      ? { ...head, events: [], deleted: { metric: random.pick([null, ...metrics]) } }
      : { ...head, events: atTheDoor(sent) };
    return { partition: 0, offset, value };
  });
  return { orgId, sourceIds, metrics, deliveries };
}

function anEventSent(random: Random): Sent {
  return {
    metric: random.pick(metrics),
    timestampMs: firstMs + random.whole(0, 9),
    value: random.pick(['1', '2', '{"x":1}']),
    isJson: random.chance(0.5),
    tags: random.pick(tagSets),
  };
}

/** Gives the events of one body their places and ordinals. */
export function atTheDoor(body: readonly Sent[]): DeviceEvent[] {
  const counts = new Map<string, number>();
  return body.map((event, place) => {
    const text = identity(event);
    const ordinal = counts.get(text) ?? 0;
    counts.set(text, ordinal + 1);
    return { ...event, place, ordinal };
  });
}

export function sortedTags(tags: TagMap): readonly (readonly [key: string, value: string])[] {
  return Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

const identity = ({ metric, timestampMs, value, isJson, tags }: Sent): string => JSON.stringify([metric, timestampMs, value, isJson, tags]);

const visible = ({ metric, timestampMs, value, tags }: LogEntry): string => JSON.stringify([timestampMs, metric, value, sortedTags(tags)]);

/** The events of one source by brute force. */
export class EventModel {
  /** Entries that agree in (time, receive time, place, metric), in order; within a group an adapter's digest decides, so there they are sorted here. */
  readonly groups: readonly (readonly string[])[];

  constructor(batches: readonly Placed<EventBatch>[]) {
    const kept = new Map<string, Kept>();
    for (const { value } of batches) {
      const { deleted, events, receivedMs } = value;
      if (deleted) for (const [key, { metric }] of kept) if (metric === (deleted.metric ?? metric)) kept.delete(key);
      for (const event of events.map((one) => ({ ...one, receivedMs }))) {
        const key = `${identity(event)} ${event.ordinal}`;
        const known = kept.get(key);
        if (!known || byArrival(event, known) < 0) kept.set(key, event);
      }
    }
    const order = (event: Kept): string => JSON.stringify([event.timestampMs, event.receivedMs, event.place, event.metric]);
    const groups = Map.groupBy([...kept.values()].toSorted(inOrder), order);
    this.groups = [...groups.values()].map((group) => group.map((event) => visible({ ...event, tags: tagsOf(event.tags) })).toSorted());
  }

  /** An answer cut into groups as large as the model's. */
  grouped(entries: readonly LogEntry[]): readonly (readonly string[])[] {
    let at = 0;
    const groups = this.groups.map(({ length }) =>
      entries
        .slice(at, (at += length))
        .map(visible)
        .toSorted(),
    );
    return at < entries.length ? [...groups, entries.slice(at).map(visible)] : groups;
  }
}

type Kept = DeviceEvent & { readonly receivedMs: number };

const byArrival = (a: Kept, b: Kept): number => a.receivedMs - b.receivedMs || a.place - b.place;

function inOrder(a: Kept, b: Kept): number {
  return a.timestampMs - b.timestampMs || byArrival(a, b) || Buffer.compare(Buffer.from(a.metric), Buffer.from(b.metric));
}
