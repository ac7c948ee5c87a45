import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { DeviceOptions, DeviceStats, Tags } from '#client';
import { eventually } from '../eventually.js';

/** What a device in a process of its own does. Of each ten of its points eight are numbers, and two are equal events of one millisecond. */
export interface DeviceOrder extends Pick<DeviceOptions, 'sourceId' | 'url' | 'apiKey' | 'buffer' | 'batch' | 'retry'> {
  /** Whether it first opens the real-time channel. */
  readonly connects?: boolean;
  /** Name of the numbers. */
  readonly metric: string;
  /** Of each point. */
  readonly tags?: Tags;
  readonly points: number;
  /** How many of the points are handed over at once, and are stored before the others are handed over. */
  readonly warmUp?: number;
  /** The time over which the points behind `warmUp` are handed over, milliseconds. */
  readonly overMs: number;
  /** The stamp of the first point; there is one point a millisecond. */
  readonly startMs: number;
}

/** How far it is: the last of them means that all points are settled. */
const phases = ['warming up', 'handing over', 'waiting', 'settled'] as const;
type Phase = (typeof phases)[number];

/** What it says every so often. */
export interface DeviceState {
  readonly phase: Phase;
  readonly stats: Omit<DeviceStats, 'lastError'>;
  readonly memoryMb: number;
  /** Codes of the errors that it was told. */
  readonly errors: readonly string[];
  /** Ids of the commands that it was given. */
  readonly commands: readonly string[];
}

const main = fileURLToPath(new URL('device-main.js', import.meta.url));
/** A small heap: whatever grew with the points that wait would break the process. Of a larger one V8 fills up to 100 MB before it collects. */
const flags = ['--no-warnings', '--max-semi-space-size=2', '--max-old-space-size=32'];

/** A device in a process of its own, which ends with this one. */
export class DeviceProcess {
  readonly #child: ChildProcess;
  readonly #saidOfErrors: Promise<string>;
  #state: DeviceState | undefined;
  /** The most memory that it had since somebody set this to 0. */
  mostMb = 0;

  /** @param around a command that runs the command which follows it. */
  constructor(order: DeviceOrder, around: readonly string[] = []) {
    const words = [...around, process.execPath, ...flags, main, JSON.stringify(order)];
    const child = spawn(words[0]!, words.slice(1), { stdio: 'pipe' });
    child.stdin.on('error', () => undefined);
    createInterface(child.stdout).on('line', (line) => {
      this.#state = JSON.parse(line) as DeviceState;
      this.mostMb = Math.max(this.mostMb, this.#state.memoryMb);
    });
    this.#saidOfErrors = text(child.stderr);
    this.#child = child;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** What it said last. */
  get state(): DeviceState {
    if (!this.#state) throw new Error('the device has said nothing yet');
    return this.#state;
  }

  /** Resolves when the device has reached this phase. Rejects when its process ends first. */
  async reaches(phase: Phase, withinMs?: number): Promise<void> {
    await eventually(() => {
      if (!this.#hasEnded && phases.indexOf(this.state.phase) < phases.indexOf(phase))
        throw new Error(`the device is ${JSON.stringify(this.state)}`);
    }, withinMs);
    if (this.#hasEnded) throw new Error(`the device has ended: ${await this.#saidOfErrors}`);
  }

  /** Has the device closed. Resolves when the process has ended, with what it said of errors. */
  async end(): Promise<string> {
    const ended = this.#hasEnded || once(this.#child, 'exit');
    this.#child.stdin!.end();
    await ended;
    return this.#saidOfErrors;
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
