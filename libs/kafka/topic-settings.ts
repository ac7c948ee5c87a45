import { setTimeout } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { isDeadLetters, type AnyTopic } from '#log';
import { events, points } from '#topics';
import { kafkajs } from './kafkajs.js';

/** A setting that a topic is made with. */
export interface Pinned {
  readonly name: string;
  readonly value: string;
  /** Whether another value keeps our promises too; any does when left out. */
  readonly fits?: (is: string) => boolean;
  /** What happens with a value that does not fit, as the end of a sentence. */
  readonly price?: string;
  /** Set where another value would lose records without any error: no role starts with such a value. */
  readonly losesRecords?: true;
}

const dayMs = 86_400_000;
/** A record of ours and what a broker adds; Kafka's own default. */
const recordBytes = 1_048_588;
const deadLetterBytes = 2 << 20;
const atLeast = (least: number) => (is: string) => Number(is) >= least;
const exactly = (value: string) => ({ value, fits: (is: string): boolean => is === value });

/** Topics whose records anybody may want to keep for a time: what becomes of them is kept elsewhere. */
const telemetry: ReadonlySet<string> = new Set([points.name, events.name]);

/**
 * What a topic is made with, and what is checked at each start. A setting without `fits` is the operator's choice from then on: how long
 * telemetry is kept, and how soon compacted topics are compacted.
 *
 * @param copies how many copies of each partition there are.
 * @param keepMs how long telemetry is kept, where the settings of the roles say so.
 */
export function pinnedSettings(
  { name, cleanup, keptMs = -1 }: AnyTopic,
  minInsyncReplicas: number,
  copies: number,
  keepMs = Infinity,
): readonly Pinned[] {
  const largest = isDeadLetters(name) ? deadLetterBytes : recordBytes;
  return [
    {
      name: 'cleanup.policy',
      ...exactly(cleanup),
      price:
        cleanup === 'compact'
          ? 'keys that nobody has deleted would vanish with their age'
          : 'all but the newest record of each source would vanish',
      losesRecords: true,
    },
    {
      name: 'unclean.leader.election.enable',
      ...exactly('false'),
      price: 'a broker that missed acknowledged records could become the leader and drop them',
      losesRecords: true,
    },
    {
      name: 'min.insync.replicas',
      value: String(minInsyncReplicas),
      fits: atLeast(Math.min(minInsyncReplicas, Math.ceil(copies / 2))),
      price: 'a record could be acknowledged that one broker alone has',
      losesRecords: true,
    },
    // The broker's clock.
    { name: 'message.timestamp.type', ...exactly('LogAppendTime'), price: 'records of a writer whose clock is ahead would be refused' },
    { name: 'max.message.bytes', value: String(largest), fits: atLeast(largest), price: 'large records would be refused' },
    telemetry.has(name) && keepMs < Infinity
      ? { name: 'retention.ms', ...exactly(String(keepMs)), price: 'records are not kept for as long as HEADWATER_KEEP_LOG says' }
      : { name: 'retention.ms', value: String(isDeadLetters(name) ? -1 : keptMs) },
    { name: 'retention.bytes', value: '-1' },
    ...(cleanup === 'compact' ? compaction : []),
  ];
}

const compaction: readonly Pinned[] = [
  {
    name: 'delete.retention.ms',
    value: String(dayMs),
    fits: atLeast(dayMs),
    price: 'roles that do not hear Kafka for half of that read the topic again, and never become ready when that takes longer',
  },
  { name: 'min.compaction.lag.ms', value: '0' },
  { name: 'max.compaction.lag.ms', value: String(7 * dayMs) },
  // The newest segment is never compacted, and every role reads all of it at its start.
  { name: 'segment.ms', value: String(dayMs) },
  { name: 'segment.bytes', value: String(64 << 20) },
];

/** The settings of a topic, by name. */
export interface Settings {
  readonly all: ReadonlyMap<string, string>;
  /** Those that somebody has set for this topic; the others are the broker's. */
  readonly own: ReadonlyMap<string, string>;
}

const longestPauseMs = 2_000;

/** The settings of each topic, as Kafka calls it. */
export async function settingsOf(admin: Admin, topics: readonly string[]): Promise<ReadonlyMap<string, Settings>> {
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
  const answer = await admin.describeConfigs({ resources, includeSynonyms: false });
  return new Map(
    answer.resources.map(({ resourceName, configEntries }) => {
      const values = (entries: typeof configEntries): Map<string, string> =>
        new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
      return [
        resourceName,
        { all: values(configEntries), own: values(configEntries.filter((it) => it.configSource === kafkajs.ConfigSource.TOPIC_CONFIG)) },
      ];
    }),
  );
}

/**
 * Resolves when they can be read back, which takes a moment. Kafka's request names all settings of a topic: what it leaves out goes back to the
 * broker's own.
 */
export async function setSettings(admin: Admin, topic: string, settings: ReadonlyMap<string, string>): Promise<void> {
  const configEntries = Array.from(settings, ([name, value]) => ({ name, value }));
  await admin.alterConfigs({ validateOnly: false, resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }] });
  for (let ms = 10; ms < longestPauseMs; ms *= 2) {
    const own = (await settingsOf(admin, [topic])).get(topic)?.own;
    if (own?.size === settings.size && [...settings].every(([name, value]) => own.get(name) === value)) return;
    await setTimeout(ms);
  }
}
