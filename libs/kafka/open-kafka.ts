import { DeadLetters, LogViews, type AnyTopic, type RecordLog, type Views } from '#log';
import { TelemetryError, type Dependency, type Metric } from '#model';
import { AvroCodec, topics as allTopics } from '#topics';
import { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import { ensureTopics, type TopicSettings } from './ensure-topics.js';
import { KafkaGroups } from './groups.js';
import { KafkaLog } from './kafka-log.js';
import { KafkaLetterPlaces } from './letter-places.js';
import { kafkaMetrics } from './metrics.js';
import { Pulse } from './pulse.js';
import { ConfluentRegistry } from './registry/confluent-registry.js';
import type { RegistryAddress } from './registry/registry-api.js';
import { pause, reasonOf, within } from './trouble.js';

export interface KafkaOptions extends KafkaAddress, TopicSettings {
  readonly registry: RegistryAddress;
  /** Keeps what the registry has answered; with it a process starts while the registry is away. */
  readonly schemaCacheFile?: string;
  /** Those that this process works with; all when left out. */
  readonly topics?: readonly AnyTopic[];
  /** How long a group waits for a member that it does not hear, milliseconds. */
  readonly sessionMs?: number;
  /** How often a member of a group looks whether it is to send a heartbeat, milliseconds: it takes up to that long to leave. */
  readonly lookMs?: number;
  /** How long an append may take before it is told that the log cannot be reached, milliseconds. */
  readonly waitMs?: number;
  /** How long the opening may take before it goes on behind the caller, milliseconds; `waitMs` when left out. */
  readonly openMs?: number;
  /** Hears what an operator should know. */
  readonly report: (message: string) => void;
}

/** The log of a cluster. */
export interface KafkaStorage {
  readonly log: RecordLog;
  readonly views: Views;
  readonly groups: KafkaGroups;
  readonly deadLetters: DeadLetters;
  readonly metrics: readonly Metric[];
  /** Kafka and the schema registry, each by itself. */
  readonly dependencies: readonly Dependency[];
  /** Resolves when the topics are there and the schemas known. Rejects as the opening does. */
  readonly opened: Promise<void>;
  /** Why the log cannot be used now, in words for the operator; undefined while it can. */
  health(): string | undefined;
  /** Sends what waits and leaves all groups. */
  close(): Promise<void>;
  /** Ends at once, as the death of the process would. For tests. */
  crash(): Promise<void>;
}

const defaults = { sessionMs: 10_000, waitMs: 8_000 };
const patienceMs = 10_000;
/** A process that has opened the log asks the registry only for schemas that it has not seen, so that is no hurry. */
const beatMs = { kafka: 2_000, registry: 10_000 };
const pauseMs = { first: 200, max: 2_000 };

/**
 * Opens the log: makes the topics that are missing and registers the schemas. While Kafka or the registry is away it goes on trying, and
 * resolves after `openMs` all the same: what is appended meanwhile is refused, and `health` says why.
 * Rejects with a sentence for the operator when a topic or a schema does not fit the contract.
 */
export async function openKafka(options: KafkaOptions): Promise<KafkaStorage> {
  const { topics = allTopics, sessionMs, lookMs, waitMs, openMs = waitMs } = { ...defaults, ...options };
  const asker = new Asker(options);
  const opening = new Opening(asker, topics, options);
  const kafkaPulse = new Pulse({
    name: 'Kafka',
    ask: () => asker.ask((admin) => admin.describeCluster(), beatMs.kafka),
    beatMs: beatMs.kafka,
    patienceMs,
  });
  const registryPulse = new Pulse({ name: 'The schema registry', ask: () => opening.registry.ask(), beatMs: beatMs.registry, patienceMs });
  const log = new KafkaLog({ address: options, topics, codec: opening.codec, asker, sessionMs, lookMs, waitMs, report: options.report });
  const views = new LogViews(log, topics);
  const places = new KafkaLetterPlaces(options, asker);
  const end = async (how: 'close' | 'crash'): Promise<void> => {
    opening.stop();
    kafkaPulse.stop();
    registryPulse.stop();
    await log[how]();
    await asker.close();
  };
  const storage: KafkaStorage = {
    log,
    views,
    groups: new KafkaGroups(options, asker, topics),
    deadLetters: new DeadLetters({
      log,
      topics,
      places,
      valueOf: async (topic, bytes) => (await opening.codec).valueOf(topic, bytes),
    }),
    metrics: kafkaMetrics(log.queue, views, places, topics),
    opened: opening.codec.then(() => undefined),
    dependencies: [
      { id: 'kafka', name: 'Kafka', health: () => kafkaPulse.health() ?? log.health() },
      { id: 'kafka_partitions', name: 'Kafka for all partitions', health: () => log.partialHealth(), isSpare: true },
      { id: 'schema_registry', name: 'The schema registry', health: () => registryPulse.health(), isSpare: true },
    ],
    health: () => opening.waitsFor ?? kafkaPulse.health() ?? log.health(),
    close: () => end('close'),
    crash: () => end('crash'),
  };
  // Without a listener a rejection would be unhandled.
  storage.opened.catch(() => undefined);
  try {
    await within(openMs, opening.codec);
    return storage;
  } catch (cause) {
    await storage.close();
    throw cause;
  }
}

/** Tries until the topics are there and the schemas known. */
class Opening {
  readonly codec: Promise<AvroCodec>;
  /** What it waits for, or why it never opens; undefined once it is open. */
  waitsFor: string | undefined = 'Kafka has not answered yet';
  readonly #stopping = new AbortController();
  readonly registry: ConfluentRegistry;

  constructor(
    private readonly asker: Asker,
    private readonly topics: readonly AnyTopic[],
    private readonly options: KafkaOptions,
  ) {
    const { prefix = '', registry, schemaCacheFile: path, report } = options;
    this.registry = new ConfluentRegistry({ ...registry, prefix, ...(path !== undefined && { cacheFile: { path, report } }) });
    this.codec = this.#open();
    // Without a listener a rejection would be unhandled; `waitsFor` says why.
    this.codec.catch(() => undefined);
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #open(): Promise<AvroCodec> {
    for (let ms = pauseMs.first; ; ms = Math.min(2 * ms, pauseMs.max)) {
      try {
        const codec = await this.#attempt();
        this.waitsFor = undefined;
        return codec;
      } catch (error) {
        this.#tell(reasonOf(error));
        if (!(error instanceof TelemetryError && error.retryable) || this.#stopping.signal.aborted) throw error;
        await pause(ms, this.#stopping.signal);
      }
    }
  }

  async #attempt(): Promise<AvroCodec> {
    const { prefix = '', report } = this.options;
    const differing = await ensureTopics(this.asker, prefix, this.topics, this.options);
    const codec = await AvroCodec.open(this.registry, this.topics);
    for (const sentence of differing) report(sentence);
    return codec;
  }

  #tell(reason: string): void {
    if (reason !== this.waitsFor) this.options.report(`the log is not open yet: ${reason}`);
    this.waitsFor = reason;
  }
}
