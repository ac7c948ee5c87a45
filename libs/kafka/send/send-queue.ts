import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import { Histogram, TelemetryError } from '#model';
import { partitionName } from '../topic-partition.js';
import { kafkaErrorOf, lasts, logUnavailable, patienceMs, within, type Failure } from '../trouble.js';
import type { Producing, Sending } from './guarded-producer.js';
import type { Leaders } from './leaders.js';
import { SendPlace, type Call, type Item, type Outgoing } from './send-place.js';

export interface SendQueueOptions {
  readonly newProducer: () => Producing;
  readonly leaders: Leaders;
  /** How long a call may take before it is told that the log cannot be reached. */
  readonly waitMs: number;
}

/** The items of one partition in one send. */
interface Part {
  readonly place: SendPlace;
  readonly items: readonly Item[];
}

/** What is sent to one broker, one send after the other. */
interface Line {
  readonly producer: Producing;
  /** Calls with records in the send under way; undefined when there is none. */
  out: ReadonlySet<Call> | undefined;
}

const groupBytes = 8 << 20;
/** The line of topics whose records somebody waits for. */
const urgent = 'urgent';
const waitingBytes = 64 << 20;
const closeMs = 1_000;
const pauseMs = { first: 100, max: 1_000 };

/** Refusals that another attempt would meet again. */
const final = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_TIMESTAMP',
  'INVALID_RECORD',
  'INVALID_TOPIC_EXCEPTION',
  'TOPIC_AUTHORIZATION_FAILED',
  'UNKNOWN_TOPIC_OR_PARTITION',
]);

/**
 * What is appended waits here while a send to its broker is out and becomes the next one; a lone record waits for nothing. A broker that is
 * away or slow holds up only the partitions that it leads, and partitions that have no leader or are refused hold up no others.
 */
export class SendQueue {
  readonly #places = new Map<string, SendPlace>();
  /** Those with something that waits. */
  readonly #waiting = new Set<SendPlace>();
  readonly #lines = new Map<string, Line>();
  readonly #calls = new Set<Call>();
  readonly #running = new Set<Promise<void>>();
  #isLooking = false;
  #bytes = 0;
  #closed: TelemetryError | undefined;
  #workedMs = -Infinity;
  readonly #counts = { records: 0, sends: 0, failures: 0 };
  readonly sendSeconds = new Histogram([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]);

  constructor(private readonly options: SendQueueOptions) {}

  figures(): { readonly bytes: number; readonly records: number; readonly sends: number; readonly failures: number } {
    return { bytes: this.#bytes, ...this.#counts };
  }

  /** Why nothing could be sent lately; undefined when something could. */
  get failure(): Failure | undefined {
    return performance.now() - this.#workedMs < patienceMs ? undefined : failureOf(this.#places.values());
  }

  /** Why nothing could be sent lately to some partitions, while others take records. */
  get partialFailure(): Failure | undefined {
    return this.failure ? undefined : failureOf(this.#places.values());
  }

  /**
   * Resolves once everything is durable. Rejects `overloaded` when too much waits, and `log_unavailable`: at once while one attempt after the
   * other fails for one of the partitions, of which there is always one under way to show that it works again.
   */
  add(outgoing: readonly Outgoing[]): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    const places = outgoing.map((it) => this.#placeOf(it));
    const failed = places.find(({ isOut, failure }) => isOut && failure && lasts(failure));
    if (failed) return Promise.reject(unreachable(failed.failure));
    const bytes = outgoing.reduce((sum, it) => sum + it.bytes, 0);
    if (this.#bytes > 0 && this.#bytes + bytes > waitingBytes) {
      return Promise.reject(new TelemetryError('overloaded', 'The log has more to write than it can take.', { retryAfterS: 1 }));
    }
    this.#bytes += bytes;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#giveUp(call), this.options.waitMs);
      const call: Call = { left: outgoing.length, ended: false, bytes, places: new Set(places), timer, resolve, reject };
      this.#calls.add(call);
      for (const [at, it] of outgoing.entries()) places[at]!.push({ ...it, call });
      for (const place of call.places) this.#waiting.add(place);
      this.#look();
    });
  }

  /** Takes nothing more, and resolves when what waits is sent or given up and the connections are closed. */
  async close(reason: TelemetryError): Promise<void> {
    this.#closed = reason;
    while (this.#running.size > 0) await Promise.all(this.#running);
    await within(closeMs, Promise.all(Array.from(this.#lines.values(), ({ producer }) => producer.close())));
  }

  /** Takes nothing more, gives everything up, and ends the connections at once. */
  crash(error: TelemetryError): void {
    this.#closed = error;
    for (const call of this.#calls) this.#end(call, error);
    for (const { producer } of this.#lines.values()) producer.cut();
  }

  #placeOf(partition: Outgoing): SendPlace {
    const name = partitionName(partition);
    let place = this.#places.get(name);
    if (!place) this.#places.set(name, (place = new SendPlace(partition, partition.isUrgent ? urgent : '')));
    return place;
  }

  #lineOf(place: SendPlace): Line {
    const name = `${this.options.leaders.of(place.partition)} ${place.line}`;
    let line = this.#lines.get(name);
    if (!line) this.#lines.set(name, (line = { producer: this.options.newProducer(), out: undefined }));
    return line;
  }

  /** Sends what waits and can be sent, once all that is handed over in this tick is there. */
  #look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#run(async () => {
      await setImmediate();
      this.#isLooking = false;
      const ready = [...this.#waiting].filter(({ isOut }) => !isOut);
      for (const [line, places] of Map.groupBy(ready, (place) => this.#lineOf(place))) {
        if (!line.out) this.#run(() => this.#send(line, this.#take(places)));
      }
    });
  }

  #run(work: () => Promise<void>): void {
    const running = work().finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** What waits for these partitions, as much as one send may hold; the rest goes to the back. */
  #take(places: readonly SendPlace[]): readonly Part[] {
    const parts: Part[] = [];
    let left = groupBytes;
    for (const place of places) {
      if (left <= 0) break;
      const items = place.take();
      this.#waiting.delete(place);
      if (!place.isEmpty) this.#waiting.add(place);
      if (items.length === 0) continue;
      for (const { bytes } of items) left -= bytes;
      place.isOut = true;
      parts.push({ place, items });
    }
    return parts;
  }

  async #send(line: Line, parts: readonly Part[]): Promise<void> {
    if (parts.length === 0) return;
    line.out = new Set(parts.flatMap(({ items }) => items.map(({ call }) => call)));
    const missing = await this.#attempt(line, parts);
    line.out = undefined;
    for (const part of parts) if (!missing.has(part)) this.#written(part);
    // Those who were waiting for this send may have more.
    this.#look();
    if (missing.size > 0) await this.#again(missing);
  }

  /** Resolves with what is not in the log, and why. */
  async #attempt({ producer }: Line, parts: readonly Part[]): Promise<ReadonlyMap<Part, unknown>> {
    const begunMs = performance.now();
    this.#counts.sends++;
    try {
      if (parts.some(({ place }) => this.options.leaders.of(place.partition) === undefined)) throw new Error('the partition has no leader');
      const bySending = new Map(parts.map((part) => [sending(part), part]));
      const missing = await producer.send([...bySending.keys()]);
      if (missing.size < parts.length) this.#workedMs = performance.now();
      return new Map(Array.from(missing, ([one, error]) => [bySending.get(one)!, error]));
    } catch (error) {
      return new Map(parts.map((part) => [part, error]));
    } finally {
      this.sendSeconds.add((performance.now() - begunMs) / 1000);
    }
  }

  #written({ place, items }: Part): void {
    this.#counts.records += items.length;
    for (const { call } of items) if (--call.left === 0) this.#end(call);
    place.worked();
  }

  /** Puts back what is not in the log, and lets it be sent again after a pause. */
  async #again(missing: ReadonlyMap<Part, unknown>): Promise<void> {
    this.#counts.failures++;
    // Partitions that were refused have an error each; an error of them all may be that of any of them.
    const isShared = missing.size > 1 && new Set(missing.values()).size === 1;
    for (const [{ place, items }, error] of missing) {
      const refusal = kafkaErrorOf(error);
      const isFinal = refusal !== undefined && final.has(refusal);
      if (isFinal && isShared) place.line = place.name;
      else if (isFinal) for (const { call } of items) this.#end(call, logUnavailable('The log has refused a record.', error));
      else if (refusal !== undefined && refusal !== 'NOT_LEADER_FOR_PARTITION') place.line ||= 'refused';
      place.failed(items, error);
      this.#waiting.add(place);
    }
    const places = Array.from(missing.keys(), ({ place }) => place);
    const failures = Math.min(...places.map((place) => place.failures));
    await Promise.all([this.options.leaders.refresh(), pause(Math.min(pauseMs.first * 2 ** (failures - 1), pauseMs.max))]);
    for (const place of places) place.isOut = false;
    this.#look();
  }

  /** The caller may retry elsewhere, so the connection is cut: this older copy must not reach the log behind the newer one. */
  #giveUp(call: Call): void {
    for (const { producer, out } of this.#lines.values()) if (out?.has(call)) producer.cut();
    this.#end(call, unreachable(failureOf(call.places)));
    for (const place of call.places) place.dropEnded();
  }

  #end(call: Call, error?: Error): void {
    if (call.ended) return;
    call.ended = true;
    this.#bytes -= call.bytes;
    this.#calls.delete(call);
    clearTimeout(call.timer);
    if (error) call.reject(error);
    else call.resolve();
  }
}

const unreachable = (failure: Failure | undefined): TelemetryError => logUnavailable('The log cannot be reached now.', failure?.error);

function failureOf(places: Iterable<SendPlace>): Failure | undefined {
  for (const { failure } of places) if (failure) return failure;
  return undefined;
}

const sending = ({ place: { partition }, items }: Part): Sending => ({ ...partition, messages: items.map(({ message }) => message) });
