import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import type { Message } from 'kafkajs';
import { Histogram, TelemetryError } from '#model';
import type { GuardedProducer, Sending } from './guarded-producer.js';
import { partitionName, type TopicPartition } from './topic-partition.js';
import { kafkaErrorOf, lasts, logUnavailable, patienceMs, type Failure } from './trouble.js';

/** A record on its way. */
export interface Outgoing extends TopicPartition {
  readonly message: Message;
  readonly bytes: number;
}

interface Call {
  /** Records that are not yet in the log. */
  left: number;
  ended: boolean;
  readonly timer: NodeJS.Timeout;
  resolve(): void;
  reject(error: Error): void;
}

interface Item extends Outgoing {
  readonly call: Call;
}

/** All items of one partition in one send. */
type Part = [Item, ...Item[]];

/** A broker refuses a batch a little above this. */
const partBytes = 1_000_000;
const groupBytes = 8 << 20;
const waitingBytes = 64 << 20;
const pauseMs = { first: 100, max: 1_000 };

/** Refusals that another attempt would meet again, while other partitions are fine. */
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
 * What is appended waits here while a send is out and becomes the next one; a lone record waits for nothing. There is one send at a time, so
 * that records keep their order through every retry.
 */
export class SendQueue {
  #waiting: Item[] = [];
  #bytes = 0;
  #sending: Promise<void> | undefined;
  /** Calls with records in the attempt under way. */
  #out: ReadonlySet<Call> = new Set();
  #closed: TelemetryError | undefined;
  #crashed: TelemetryError | undefined;
  #failure: Failure | undefined;
  #idleSinceMs = 0;
  readonly #counts = { records: 0, sends: 0, failures: 0 };
  readonly sendSeconds = new Histogram([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]);

  /** @param waitMs how long a call may take before it is told that the log cannot be reached. */
  constructor(
    private readonly producer: Pick<GuardedProducer, 'send' | 'cut'>,
    private readonly waitMs: number,
  ) {}

  figures(): { readonly bytes: number; readonly records: number; readonly sends: number; readonly failures: number } {
    return { bytes: this.#bytes, ...this.#counts };
  }

  /** Why nothing could be sent lately, since the attempt that failed first; undefined when the last one worked, or was long ago. */
  get failure(): Failure | undefined {
    return this.#sending || performance.now() - this.#idleSinceMs < patienceMs ? this.#failure : undefined;
  }

  /**
   * Resolves once everything is durable. Rejects `overloaded` when too much waits, and `log_unavailable`: at once while one send after the
   * other fails, of which there is always one under way to show that it works again.
   */
  add(outgoing: readonly Outgoing[]): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    const { failure } = this;
    if (this.#sending && failure && lasts(failure)) return Promise.reject(unreachable(failure));
    const bytes = outgoing.reduce((sum, it) => sum + it.bytes, 0);
    if (this.#bytes > 0 && this.#bytes + bytes > waitingBytes) {
      return Promise.reject(new TelemetryError('overloaded', 'The log has more to write than it can take.', { retryAfterS: 1 }));
    }
    this.#bytes += bytes;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#giveUp(call), this.waitMs);
      const call: Call = { left: outgoing.length, ended: false, timer, resolve, reject };
      for (const it of outgoing) this.#waiting.push({ ...it, call });
      this.#sending ??= this.#sendAll();
    });
  }

  /** Takes nothing more and resolves when what waits is sent or given up. */
  async close(error: TelemetryError): Promise<void> {
    this.#closed = error;
    await this.#sending;
  }

  /** Takes nothing more and gives everything up. */
  crash(error: TelemetryError): void {
    this.#closed = this.#crashed = error;
    for (const { call } of this.#waiting) end(call, error);
    this.#dropEnded();
  }

  async #sendAll(): Promise<void> {
    // What was long ago says nothing about now.
    this.#failure = this.failure;
    await setImmediate();
    for (let parts = this.#next(); parts.length > 0; parts = this.#next()) {
      await this.#deliver(parts);
      for (const part of parts) for (const it of part) this.#bytes -= it.bytes;
      // Those who were waiting for this send may have more.
      await setImmediate();
    }
    this.#sending = undefined;
    this.#idleSinceMs = performance.now();
  }

  /** The items for the next send, in order, as many as one may hold. */
  #next(): readonly Part[] {
    this.#dropEnded();
    const parts = new Map<string, Part>();
    const sizes = new Map<string, number>();
    let [n, bytes] = [0, 0];
    for (; n < this.#waiting.length && bytes < groupBytes; n++) {
      const item = this.#waiting[n]!;
      const place = partitionName(item);
      const size = (sizes.get(place) ?? 0) + item.bytes;
      const part = parts.get(place);
      if (part && size > partBytes) break;
      sizes.set(place, size);
      bytes += item.bytes;
      if (part) part.push(item);
      else parts.set(place, [item]);
    }
    this.#waiting = this.#waiting.slice(n);
    return [...parts.values()];
  }

  /** Resolves when each item is in the log or not wanted any more. */
  async #deliver(parts: readonly Part[]): Promise<void> {
    let ms = pauseMs.first;
    // Calls are given up between two attempts too, and nothing of them may be in the next one.
    for (let left: readonly Part[] = wanted(parts); left.length > 0; left = wanted(left)) {
      try {
        const missing = await this.#send(left);
        const isSome = missing.length < left.length;
        left = missing;
        if (isSome) {
          ms = pauseMs.first;
          continue;
        }
      } catch (error) {
        if (this.#crashed) for (const { call } of left.flat()) end(call, this.#crashed);
        if (final.has(kafkaErrorOf(error) ?? '')) return this.#deliverApart(left, error);
      }
      await pause(ms);
      ms = Math.min(2 * ms, pauseMs.max);
    }
  }

  /** One of them is refused for good: the others must not wait for it. */
  async #deliverApart(parts: readonly Part[], error: unknown): Promise<void> {
    if (parts.length > 1) for (const part of parts) await this.#deliver([part]);
    else for (const { call } of parts.flat()) end(call, logUnavailable('The log has refused a record.', error));
  }

  /** Resolves with those that are not in the log. */
  async #send(parts: readonly Part[]): Promise<readonly Part[]> {
    const begunMs = performance.now();
    this.#counts.sends++;
    this.#out = new Set(parts.flat().map(({ call }) => call));
    try {
      const sendings = new Map(parts.map((part) => [sending(part), part]));
      const missing = new Set(await this.producer.send([...sendings.keys()]));
      this.#failure = undefined;
      for (const [one, part] of sendings) if (!missing.has(one)) this.#written(part);
      return [...missing].map((one) => sendings.get(one)!);
    } catch (error) {
      this.#counts.failures++;
      this.#failure = { error, sinceMs: this.#failure?.sinceMs ?? begunMs };
      throw error;
    } finally {
      this.#out = new Set();
      this.sendSeconds.add((performance.now() - begunMs) / 1000);
    }
  }

  #written(part: Part): void {
    this.#counts.records += part.length;
    for (const { call } of part) if (--call.left === 0) end(call);
  }

  /** The caller may retry elsewhere, so the connection is cut: this older copy must not reach the log behind the newer one. */
  #giveUp(call: Call): void {
    if (this.#out.has(call)) this.producer.cut();
    end(call, unreachable(this.#failure));
    this.#dropEnded();
  }

  /** Calls are given up in their order, so what nobody wants any more is at the front. */
  #dropEnded(): void {
    let n = 0;
    while (this.#waiting[n]?.call.ended) this.#bytes -= this.#waiting[n++]!.bytes;
    if (n > 0) this.#waiting = this.#waiting.slice(n);
  }
}

const unreachable = (failure: Failure | undefined): TelemetryError => logUnavailable('The log cannot be reached now.', failure?.error);

const isPart = (items: Item[]): items is Part => items.length > 0;

/** The parts without the items of calls that were given up. */
const wanted = (parts: readonly Part[]): Part[] => parts.map((part) => part.filter(({ call }) => !call.ended)).filter(isPart);

function sending(part: Part): Sending {
  const [{ topic, partition }] = part;
  return { topic, partition, messages: part.map(({ message }) => message) };
}

function end(call: Call, error?: Error): void {
  if (call.ended) return;
  call.ended = true;
  clearTimeout(call.timer);
  if (error) call.reject(error);
  else call.resolve();
}
