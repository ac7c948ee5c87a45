import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable, Logger, Optional, type OnApplicationShutdown } from '@nestjs/common';
import { CLOCK, MONOTONIC_CLOCK, type Clock, type MonotonicClock } from '#edge';
import { entry, RECORD_LOG, tombstone, VIEWS, type Entry, type RecordLog, type View, type Views } from '#log';
import { causes, CommandDesk, commandTtlMs, oneAtATime, type CommandState } from '#model';
import { commandKey, commandStates } from '#topics';

const logger = new Logger('CommandStates');

/** Commands of one source whose end is awaited; where there are more, the oldest is given up. */
const maxOpen = 256;
/** A command whose device never says how it ended is given up after 7 days. */
const maxOpenMs = 7 * 86_400_000;
const lookMs = 3_600_000;
const retryMs = 1_000;
/** How long the gateway that has handed a command over may take to write that it has. */
const writtenMs = 250;
/** How long the end of a command waits for others, to be written with them: nobody waits for it. */
const togetherMs = 50;
const tellEveryMs = 60_000;

type Listener = (key: string, state: CommandState | null) => void;

/** What this gateway is writing of a command. */
interface Write {
  readonly state: CommandState | null;
  readonly done: Promise<void>;
}

/** 0 handed over, 1 acknowledged, 2 ended: never back. */
const stageOf = (state: CommandState | null): number => (state === null ? 2 : Number(state.isAcknowledged));

/**
 * The commands that were handed over and have not ended, as the log shows them to every gateway, and what this one is writing of them. Keeps the
 * slots of the desk.
 */
@Injectable()
export class CommandStates implements OnApplicationShutdown {
  readonly desk = new CommandDesk();
  /** Resolves when all that was in the log at the start is known. */
  readonly ready: Promise<void>;
  readonly #view: View<CommandState>;
  readonly #writes = new Map<string, Write>();
  readonly #listeners: Listener[] = [];
  readonly #timer: NodeJS.Timeout;
  /** Ends that are written next, together. */
  #ends: Entry[] = [];
  #endsWritten: Promise<void> | undefined;
  #isStopped = false;
  readonly #inTurn = oneAtATime();
  /** The next reading to the end of the log, which has not begun. */
  #nextCaughtUp: Promise<void> | undefined;
  #toldMs = -Infinity;

  constructor(
    @Inject(VIEWS) views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
    @Optional() @Inject(MONOTONIC_CLOCK) private readonly monotonicMs: MonotonicClock = () => performance.now(),
  ) {
    this.#view = views.open(commandStates);
    this.ready = this.#view.ready.then(() => this.#begin());
    // Whoever waits for it hears of a failure.
    this.ready.catch(() => undefined);
    this.#timer = setInterval(() => void this.#giveUpOld(), lookMs).unref();
  }

  onApplicationShutdown(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    // The log writes what it was given before it closes.
    this.#writeEnds().catch((error: unknown) => this.#complain(error));
  }

  /** Undefined for a command that was not handed over, or has ended. */
  get(key: string): CommandState | undefined {
    const write = this.#writes.get(key);
    return write ? (write.state ?? undefined) : this.#view.get(key);
  }

  /**
   * As `get`, but of a command that is not known it waits for what others are writing: a device that has changed its gateway may answer a command
   * before the new gateway has heard of it. Rejects `log_unavailable`.
   */
  async find(key: string): Promise<CommandState | undefined> {
    const known = this.get(key);
    if (known) return known;
    await pause(writtenMs, undefined, { ref: false });
    await this.#caughtUp();
    return this.get(key);
  }

  /**
   * Calls `listener` with each durable change of a command: the first state says that the command was handed over, null that it was not or has
   * ended. A change that this gateway has written is told as soon as it is durable, and again when it is read back from the log.
   */
  changes(listener: Listener): void {
    this.#listeners.push(listener);
    this.#view.changes(({ key, value }) => listener(key, value));
  }

  /** Writes what has become of a command, after what is being written of it already, however long the log is away; null ends it. */
  write(state: CommandState, next: CommandState | null): void {
    const key = commandKey(state);
    const before = this.#writes.get(key)?.done;
    // Of a command that was not handed over, its sender waits to hear so. Nobody waits for the end of a command that was.
    const isPatient = next === null && this.get(key) !== undefined;
    this.#writes.set(key, { state: next, done: this.#append(key, next, isPatient, before) });
  }

  /** Ends the oldest open commands of a source, so that one more keeps it within `maxOpen`. */
  makeRoom(source: string): void {
    const open = Array.from(this.#view.scan(`${source}/`), ([key]) => key).filter((key) => this.get(key) !== undefined);
    const tooMany = open.slice(0, Math.max(0, open.length - maxOpen + 1));
    if (tooMany.length > 0) void this.#end(tooMany);
  }

  /** Resolves when the view has what was in the log when this was called. Those who call it while it reads for others share the reading after that. */
  #caughtUp(): Promise<void> {
    return (this.#nextCaughtUp ??= this.#inTurn(() => {
      this.#nextCaughtUp = undefined;
      return this.#view.caughtUp();
    }));
  }

  async #append(key: string, next: CommandState | null, isPatient: boolean, before: Promise<void> | undefined): Promise<void> {
    await before;
    const one = next ? entry(commandStates, next) : tombstone(commandStates, key);
    while (!this.#isStopped) {
      try {
        await (isPatient ? this.#appendTogether(one) : this.log.append([one]));
        for (const listener of this.#listeners) listener(key, next);
        return;
      } catch (error) {
        this.#complain(error);
        await pause(retryMs, undefined, { ref: false });
      }
    }
  }

  #appendTogether(end: Entry): Promise<void> {
    this.#ends.push(end);
    return (this.#endsWritten ??= pause(togetherMs, undefined, { ref: false }).then(() => this.#writeEnds()));
  }

  async #writeEnds(): Promise<void> {
    const ends = this.#ends;
    [this.#ends, this.#endsWritten] = [[], undefined];
    if (ends.length > 0) await this.log.append(ends);
  }

  #begin(): void {
    const nowMs = this.clock();
    for (const [key, state] of this.#view.scan('')) {
      if (!state.isAcknowledged && nowMs - state.sentMs < commandTtlMs) this.desk.handedOver(key, this.monotonicMs());
    }
    this.#view.changes(({ key, value }) => {
      const write = this.#writes.get(key);
      if (write && stageOf(value) >= stageOf(write.state)) this.#writes.delete(key);
      const state = this.get(key);
      if (state && !state.isAcknowledged) this.desk.handedOver(key, this.monotonicMs());
      else this.desk.settled(key);
    });
  }

  async #giveUpOld(): Promise<void> {
    const beforeMs = this.clock() - maxOpenMs;
    const old = Array.from(this.#view.scan('')).filter(([, { sentMs }]) => sentMs < beforeMs);
    await this.#end(old.map(([key]) => key));
  }

  async #end(keys: readonly string[]): Promise<void> {
    const ends: Entry[] = keys.map((key) => tombstone(commandStates, key));
    await this.log.append(ends).catch((error: unknown) => this.#complain(error));
  }

  #complain(error: unknown): void {
    const nowMs = performance.now();
    if (nowMs - this.#toldMs < tellEveryMs) return;
    this.#toldMs = nowMs;
    logger.warn(`what became of commands could not be written, and is tried again: ${causes(error)}`);
  }
}
