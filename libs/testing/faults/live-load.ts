import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { WebSocket } from 'ws';
import { eventually } from '../eventually.js';
import type { ApiClient, EntryJson, QueryJson } from '../http/client.js';
import type { Frame } from '../http/socket-client.js';
import { Random } from '../random.js';
import { LiveSender, type Commanded } from './live-commands.js';

const patienceMs = 120_000;
const everyMs = 100;
/** As a client of this service has them: frames that may wait for their acknowledgement. */
const window = 32;
/** Both ends hear something several times a second, so that this silence means that the other one is gone. */
const silentMs = 8_000;

/** A WebSocket that is opened again as often as it takes. */
abstract class Persistent {
  /** How many were opened so far. */
  connections = 0;
  /** When each of its sockets ended. */
  readonly endedMs: number[] = [];
  #isStopped = false;
  readonly #running: Promise<void>;

  constructor(
    private readonly base: string,
    protected readonly key: string,
    private readonly random: Random,
  ) {
    this.#running = this.#run();
  }

  /** Resolves when its last socket is closed. */
  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#running;
  }

  protected abstract path(): string;
  protected abstract opened(socket: WebSocket): void;
  protected abstract take(frame: Frame, socket: WebSocket): void;
  protected tick(_socket: WebSocket): void {}

  async #run(): Promise<void> {
    await Promise.resolve();
    while (!this.#isStopped) {
      await this.#talk();
      await pause(this.random.whole(50, 500));
    }
  }

  #talk(): Promise<void> {
    const socket = new WebSocket(this.base.replace(/^http/, 'ws') + this.path(), { handshakeTimeout: silentMs });
    let heardMs = performance.now();
    const timer = setInterval(() => {
      if (this.#isStopped || performance.now() - heardMs > silentMs) socket.terminate();
      else if (socket.readyState === socket.OPEN) this.tick(socket);
    }, everyMs);
    socket.on('error', () => undefined);
    socket.on('open', () => {
      this.connections++;
      this.opened(socket);
    });
    socket.on('message', (data: Buffer) => {
      heardMs = performance.now();
      this.take(JSON.parse(data.toString()) as Frame, socket);
    });
    return new Promise((resolve) =>
      socket.on('close', () => {
        clearInterval(timer);
        this.endedMs.push(performance.now());
        resolve();
      }),
    );
  }
}

/** Sends a point and an event in each frame, both with its number as their value, and again what was not acknowledged. Answers commands at once. */
class LiveDevice extends Persistent implements Commanded {
  /** How many were sent, and how many of them are durable. */
  sent = 0;
  acknowledged = 0;
  /** Numbers of the commands that came. */
  readonly handed: number[] = [];
  /** Answers that no frame should have got. */
  readonly wrong: Frame[] = [];
  isFinishing = false;
  /** `#first`: frames acknowledged before this connection. `#seq`: frames sent on it. */
  #first = 0;
  #seq = 0;
  #isLetIn = false;

  constructor(
    base: string,
    key: string,
    random: Random,
    readonly sourceId: string,
    private readonly beginMs: number,
  ) {
    super(base, key, random);
  }

  protected override path(): string {
    return '/ws/device';
  }

  protected override opened(socket: WebSocket): void {
    this.#first = this.acknowledged;
    this.#seq = 0;
    this.#isLetIn = false;
    socket.send(JSON.stringify({ type: 'device_auth', api_key: this.key, source_id: this.sourceId, acks: true }));
  }

  protected override take(frame: Frame, socket: WebSocket): void {
    if (frame['type'] === 'authenticated') this.#isLetIn = true;
    else if (frame['type'] === 'typed_command') this.#obey(frame, socket);
    else if (frame['type'] === 'telemetry_ack') this.acknowledged = this.#first + (frame['seq'] as number);
    else if (frame['code'] !== 'BACKEND_UNAVAILABLE') this.wrong.push(frame);
  }

  #obey({ id, command, params }: Frame, socket: WebSocket): void {
    const { number } = params as { readonly number: number };
    this.handed.push(number);
    socket.send(JSON.stringify({ type: 'command_result', id, command, event: 'result', result: number }));
  }

  protected override tick(socket: WebSocket): void {
    const n = this.#first + this.#seq;
    if (!this.#isLetIn || n >= this.acknowledged + window || (this.isFinishing && n >= this.sent)) return;
    this.sent = Math.max(this.sent, n + 1);
    const of = { value: n, timestamp: this.beginMs + n };
    const points = [
      { metric: 'm', ...of },
      { metric: 'e', class: 'event', ...of },
    ];
    socket.send(JSON.stringify({ type: 'telemetry', seq: ++this.#seq, points }));
  }
}

/** Goes on behind its last cursor. */
class LiveViewer extends Persistent {
  readonly #seen = new Set<number>();
  last = -1;
  /** Whether it was ever told that the server cannot read its log. */
  isWarned = false;
  readonly wrong: Frame[] = [];
  #cursor: string | undefined;

  constructor(
    base: string,
    key: string,
    random: Random,
    private readonly stream: string,
  ) {
    super(base, key, random);
  }

  protected override path(): string {
    return `${this.stream}?cursor=1${this.#cursor ? `&after=${encodeURIComponent(this.#cursor)}` : ''}`;
  }

  protected override opened(socket: WebSocket): void {
    socket.send(JSON.stringify({ type: 'auth', api_key: this.key }));
  }

  protected override take(frame: Frame): void {
    const { type, cursor, points, metric, value } = frame as Frame & { readonly points: readonly { readonly value: number }[] };
    if (typeof cursor === 'string') this.#cursor = cursor;
    if (type === 'telemetry') for (const point of points) this.#see(point.value);
    else if (type === 'event' && metric === 'e') this.#see(value as number);
    else if (type === 'gateway_reconnecting') this.isWarned = true;
    else if (type === 'gap') this.wrong.push(frame);
  }

  get hasBegun(): boolean {
    return this.#cursor !== undefined;
  }

  /** @throws Error when a number is missing between the first that was seen and the end. */
  check(end: number): void {
    const first = Math.min(...this.#seen);
    const missing = Array.from({ length: end - first }, (_, at) => first + at).filter((n) => !this.#seen.has(n));
    if (missing.length > 0) throw new Error(`${this.stream} has not shown ${missing.length} of ${end}, first ${missing[0]}`);
  }

  #see(n: number): void {
    this.#seen.add(n);
    this.last = Math.max(this.last, n);
  }
}

/**
 * Devices that stay connected, and for each two people who watch what it sends, and one who sends it commands; all of them come back whatever
 * breaks.
 */
export class LiveLoad {
  readonly #devices: readonly LiveDevice[];
  readonly #senders: readonly LiveSender[];
  readonly #viewers: readonly { readonly viewer: LiveViewer; readonly of: LiveDevice }[];

  constructor(
    private readonly client: ApiClient,
    base: string,
    private readonly devices: number,
    { prefix, seed, beginMs }: { readonly prefix: string; readonly seed: number; readonly beginMs: number },
  ) {
    const { key } = client;
    const random = new Random(seed);
    this.#devices = Array.from({ length: devices }, (_, at) => new LiveDevice(base, key, random, `live-${prefix}${at}`, beginMs));
    this.#senders = this.#devices.map((device) => new LiveSender(client, device));
    this.#viewers = this.#devices.flatMap((of) =>
      ['metrics', 'logs'].map((what) => ({ of, viewer: new LiveViewer(base, key, random, `/v1/sources/${of.sourceId}/${what}/stream`) })),
    );
  }

  /** How many connections there were so far. */
  get connections(): number {
    return [...this.#devices, ...this.#viewers.map(({ viewer }) => viewer)].reduce((sum, one) => sum + one.connections, 0);
  }

  /** Resolves when each device was acknowledged once more and handed one more command, and each who watches has seen more. */
  async goesOn(): Promise<void> {
    const commanded = this.#senders.map((sender) => sender.count('queued'));
    const before = this.#devices.map(({ acknowledged }) => acknowledged);
    await this.#until('was acknowledged', (device, at) => device.acknowledged > before[at]!);
    const acknowledged = new Map(this.#devices.map((device) => [device, device.acknowledged]));
    await eventually(() => {
      const blind = this.#viewers.filter(({ viewer, of }) => !viewer.hasBegun || viewer.last < acknowledged.get(of)!);
      if (blind.length > 0) throw new Error(`${blind.length} of ${this.#viewers.length} who watch have seen nothing since`);
    }, patienceMs);
    await this.#until('was handed a command', (_, at) => this.#senders[at]!.count('queued') > commanded[at]!);
  }

  /** Resolves when each who watches was told that the server cannot read its log. */
  async warned(): Promise<void> {
    await eventually(() => {
      const unaware = this.#viewers.filter(({ viewer }) => !viewer.isWarned);
      if (unaware.length > 0) throw new Error(`${unaware.length} of ${this.#viewers.length} who watch were not told that the log is away`);
    }, patienceMs);
  }

  /**
   * Resolves when all that was begun is acknowledged, everybody has seen all of it from their beginning on, and nobody is connected any more.
   * Rejects when somebody was told what is not so.
   */
  async stop(): Promise<void> {
    await Promise.all(this.#senders.map((sender) => sender.stop()));
    for (const device of this.#devices) device.isFinishing = true;
    await this.#until('has all acknowledged', ({ sent, acknowledged }) => acknowledged >= sent);
    await eventually(() => {
      for (const { viewer, of } of this.#viewers) viewer.check(of.sent);
    }, patienceMs);
    await eventually(() => expect(this.#senders.flatMap((sender) => sender.wrongs())).toEqual([]));
    await this.end();
    const wrong = [...this.#devices, ...this.#viewers.map(({ viewer }) => viewer)].flatMap((one) => one.wrong);
    if (wrong.length > 0) throw new Error(`${wrong.length} wrong frames: ${JSON.stringify(wrong.slice(0, 5))}`);
  }

  /** Cuts everybody off. */
  async end(): Promise<void> {
    await Promise.all([...this.#senders, ...this.#devices, ...this.#viewers.map(({ viewer }) => viewer)].map((one) => one.stop()));
  }

  /** Rejects when a source has anything but each number once, as a point and as an event, and the outcomes of commands that came, once. */
  async verify(): Promise<void> {
    for (const { sourceId, sent, handed } of this.#devices) {
      const path = `/v1/sources/${sourceId}`;
      const all = 'start=2000-01-01T00:00:00Z&end=2100-01-01T00:00:00Z';
      const raw = await this.client.json<QueryJson>(`${path}/metrics/query?interval=raw&${all}`);
      const minutes = await this.client.json<QueryJson>(`${path}/metrics/query?interval=1m&${all}`);
      const entries = await this.client.json<EntryJson[]>(`${path}/logs?name=e&limit=10000&${all}`);
      const outcomes = await this.client.json<EntryJson[]>(`${path}/logs?name=command.result&limit=10000&${all}`);
      const answered = outcomes.map(({ value }) => (JSON.parse(value) as { readonly result: number }).result);
      expect([new Set(answered).size, handed]).toEqual([answered.length, expect.arrayContaining(answered)]);
      const numbers = Array.from({ length: sent }, (_, n) => n);
      expect({
        sourceId,
        points: raw.series['m']?.value,
        counted: minutes.series['m']?.count?.reduce((sum, count) => sum + count, 0),
        events: entries.map(({ value }) => Number(value)).toSorted((a, b) => a - b),
      }).toEqual({ sourceId, points: numbers, counted: sent, events: numbers });
    }
  }

  /** What became of it, in words. */
  told(): string {
    const sum = (of: (device: LiveDevice) => number): number => this.#devices.reduce((all, device) => all + of(device), 0);
    const connections = this.#viewers.reduce((all, { viewer }) => all + viewer.connections, 0);
    const commands = (of: (sender: LiveSender) => number): number => this.#senders.reduce((all, sender) => all + of(sender), 0);
    const told = (['queued', 'never', 'unknown'] as const).map((what) => `${what} ${commands((sender) => sender.count(what))}`).join(', ');
    return `commands: ${told}, queued and cut off ${commands((sender) => sender.cutOff)}; ${sum(({ sent }) => sent)} frames over ${sum((one) => one.connections)} connections of ${this.devices} devices, seen over ${connections} of ${this.#viewers.length}`;
  }

  #until(what: string, holds: (device: LiveDevice, at: number) => boolean): Promise<void> {
    return eventually(() => {
      const others = this.#devices.filter((device, at) => !holds(device, at)).map(({ sourceId }) => sourceId);
      if (others.length > 0) throw new Error(`not every live device ${what}: ${others.join(', ')}`);
    }, patienceMs);
  }
}
