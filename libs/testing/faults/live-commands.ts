import { setTimeout as pause } from 'node:timers/promises';
import { inTime } from '#log';
import type { ApiClient } from '../http/client.js';
import type { Answer } from '../http/send.js';

const everyMs = 200;
/** A gateway that stands still answers nothing for as long as it does. */
const patienceMs = 8_000;
/** A connection that ends so soon after the answer may have taken the command with it. */
const cutMs = 1_000;

/** `never`: the device does not get it, or the sender is asked to send it again. */
type Told = 'queued' | 'never' | 'unknown';

interface Sent {
  readonly told: Told;
  readonly fromMs: number;
  readonly toMs: number;
}

/** What became of commands at the device: their numbers as they came, and when its connections ended. */
export interface Commanded {
  readonly sourceId: string;
  readonly handed: readonly number[];
  readonly endedMs: readonly number[];
}

/** Sends numbered commands to one device, one after the other, through any gateway, and keeps what it is told of each. */
export class LiveSender {
  readonly #sent: Sent[] = [];
  #isStopped = false;
  readonly #running: Promise<void>;

  constructor(
    private readonly client: ApiClient,
    private readonly device: Commanded,
  ) {
    this.#running = this.#run();
  }

  /** Resolves when its last command is answered. */
  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#running;
  }

  count(told: Told): number {
    return this.#sent.filter((one) => one.told === told).length;
  }

  /** Commands that were handed over, and that the device did not get, because its connection ended at that moment. */
  get cutOff(): number {
    return this.#missing().filter((number) => this.#wasCut(number)).length;
  }

  /** What was told that is not so, and what came twice. */
  wrongs(): string[] {
    const { sourceId, handed } = this.device;
    const twice = handed.filter((number, at) => handed.indexOf(number) !== at).map((number) => `${number} came twice`);
    const given = handed.filter((number) => this.#sent[number]?.told === 'never').map((number) => `${number} came, though it never should`);
    const missing = this.#missing().filter((number) => !this.#wasCut(number));
    return [...twice, ...given, ...missing.map((number) => `${number} did not come, though it was queued`)].map(
      (wrong) => `command ${wrong} to ${sourceId}`,
    );
  }

  #missing(): number[] {
    const handed = new Set(this.device.handed);
    return [...this.#sent.keys()].filter((number) => this.#sent[number]!.told === 'queued' && !handed.has(number));
  }

  #wasCut(number: number): boolean {
    const { fromMs, toMs } = this.#sent[number]!;
    return this.device.endedMs.some((atMs) => atMs >= fromMs && atMs <= toMs + cutMs);
  }

  async #run(): Promise<void> {
    for (let number = 0; !this.#isStopped; number++) {
      const fromMs = performance.now();
      const told = await inTime(this.#send(number), patienceMs, () => new Error('no answer')).then(toldBy, (): Told => 'unknown');
      this.#sent.push({ told, fromMs, toMs: performance.now() });
      await pause(everyMs);
    }
  }

  #send(number: number): Promise<Answer> {
    return this.client.ask({
      method: 'POST',
      path: `/v1/sources/${this.device.sourceId}/commands`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ command: 'count', params: { number } }),
    });
  }
}

function toldBy({ status, text }: Answer): Told {
  if (status === 502) return 'unknown';
  return status === 200 && (JSON.parse(text) as { readonly queued: boolean }).queued ? 'queued' : 'never';
}
