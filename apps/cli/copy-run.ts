import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { bodiesOf } from './copy-bodies.js';
import type { CopySide } from './copy-side.js';
import type { CopyState, StateFile } from './copy-state.js';
import { Failure } from './failure.js';
import { historyOf, type Kind, kinds, sourcePages } from './history.js';
import type { Io } from './io.js';
import { counted } from './text.js';

const compress = promisify(gzip);
/** Sources that are copied at once, each with one request under way. */
const maxFlying = 4;
/** Sources that are compared once all of them are copied. The state names no others, however many there are. */
const chunkSources = 50;
/** A target shows what it has accepted after a while. */
const settleMs = 30_000;
const maxPauseMs = 2_000;
const maxFlaws = 20;

interface Way {
  readonly origin: CopySide;
  readonly target: CopySide;
  readonly file: StateFile;
  readonly io: Io;
  /** Whether a source is to be copied. */
  readonly isWanted: (sourceId: string) => boolean;
}

/** Copies source by source, and goes on where the state says. */
export class CopyRun {
  readonly #failed = new AbortController();
  readonly #signal: AbortSignal;

  constructor(
    private readonly way: Way,
    readonly state: CopyState,
  ) {
    this.#signal = AbortSignal.any([way.io.interrupted, this.#failed.signal]);
  }

  /** Rejects `Failure`; the state says then how far it has come. */
  async run(): Promise<void> {
    for await (const ids of this.#chunks()) {
      await this.#each(ids, (id) => this.#copy(id));
      const endMs = performance.now() + settleMs;
      await this.#each(ids, (id) => this.#compare(id, endMs));
      this.state.after = ids.at(-1)!;
      this.state.until_ms = {};
      this.state.copied += ids.length;
      await this.way.file.save(this.state);
    }
  }

  async *#chunks(): AsyncGenerator<readonly string[]> {
    const { origin, isWanted } = this.way;
    for await (const ids of origin.read((headwater) => sourcePages(headwater, this.#signal, this.state.after))) {
      const wanted = ids.filter(isWanted);
      for (let at = 0; at < wanted.length; at += chunkSources) yield wanted.slice(at, at + chunkSources);
    }
  }

  async #copy(id: string): Promise<void> {
    const { origin, target, file, io } = this.way;
    const { state } = this;
    for (const kind of kinds) {
      const span = { startMs: state.until_ms[id]?.[kind] ?? state.start_ms, endMs: state.end_ms };
      for await (const { groups, untilMs, lacks } of origin.read((headwater) =>
        historyOf(kind, headwater.source(id), span, this.#signal),
      )) {
        for (const text of bodiesOf(id, groups)) {
          const body = await compress(text, { level: 1 });
          await target.ask((headwater) => headwater.ingest(body, { signal: this.#signal }));
        }
        state[kind] += groups.reduce((sum, group) => sum + group.length, 0);
        io.progress(() => `${id}: ${this.sent()}`);
        if (lacks) this.#flaw(id, lacks);
        (state.until_ms[id] ??= {})[kind] = untilMs;
        if (groups.length > 0) await file.save(state);
      }
    }
  }

  async #compare(id: string, endMs: number): Promise<void> {
    const { origin, target, io } = this.way;
    for (const kind of kinds) {
      io.progress(() => `Comparing ${id}: ${this.sent()}`);
      const there = await this.#digest(origin, id, kind);
      for (let pauseMs = 50; ; pauseMs = Math.min(maxPauseMs, 2 * pauseMs)) {
        const here = await this.#digest(target, id, kind);
        if (here.sum === there.sum) break;
        if (here.count > there.count || performance.now() > endMs) {
          this.#flaw(
            id,
            `the origin has ${counted(there.count, kind.slice(0, -1))}, and the target ${here.count.toLocaleString('en')} that are not the same`,
          );
          break;
        }
        await sleep(pauseMs, undefined, { signal: this.#signal });
      }
    }
  }

  /** What a server answers for a source, as a number and a checksum. */
  async #digest(side: CopySide, id: string, kind: Kind): Promise<{ readonly count: number; readonly sum: string }> {
    const hash = createHash('sha256');
    let count = 0;
    const span = { startMs: this.state.start_ms, endMs: this.state.end_ms };
    for await (const { groups } of side.read((headwater) => historyOf(kind, headwater.source(id), span, this.#signal))) {
      for (const group of groups) {
        for (const line of group) hash.update(line).update('\n');
        count += group.length;
      }
    }
    return { count, sum: hash.digest('hex') };
  }

  #flaw(id: string, sentence: string): void {
    const { flaws } = this.state;
    if (flaws.length < maxFlaws) flaws.push(`${id}: ${sentence}.`);
    this.state.flawed++;
  }

  /** Does `work` for a few sources at once. The first failure ends the others. */
  async #each(ids: readonly string[], work: (id: string) => Promise<void>): Promise<void> {
    const rest = ids.values();
    const worker = async (): Promise<void> => {
      for (const id of rest) await work(id).catch((error: unknown) => this.#stop(id, error));
    };
    await Promise.allSettled(Array.from({ length: maxFlying }, worker));
    this.#signal.throwIfAborted();
  }

  #stop(id: string, error: unknown): never {
    this.#failed.abort(error instanceof Failure ? new Failure(`${id}: ${error.message}`, error.exitCode, { cause: error }) : error);
    throw error;
  }

  /** For a person. */
  sent(): string {
    return `${counted(this.state.points, 'point')} and ${counted(this.state.events, 'event')}`;
  }
}
