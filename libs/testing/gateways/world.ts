import { entry } from '#log';
import { commandTtlMs, gatewayQuietMs, maxHandOverMs, TelemetryError } from '#model';
import { commands } from '#topics';
import type { Random } from '../random.js';
import { GatewayMachine } from './gateway-machine.js';
import { Link, orgId, sources, type Given } from './link.js';
import { Machine, type SimulatedTime } from './machines.js';
import { MachinesLog } from './machines-log.js';

/** How far the time of a connection may be from what it is by the clock of the log: as long as a heartbeat takes to get there. */
const maxAppendMs = 2_100;

/** Devices, gateways that die and stand still, senders, and the reference: what really happened. */
export class World {
  readonly log: MachinesLog;
  gateways: readonly GatewayMachine[];
  readonly links: Link[] = [];
  /** Whether the sender of a command was told that it is queued, by its name. */
  readonly told = new Map<string, boolean>();
  /** Commands whose sender was told to send them again. */
  readonly again = new Set<string>();
  readonly #wrong: string[] = [];
  /** Gateways that others took for gone, and that went on. */
  woken = 0;
  /** Of commands that were given to devices, by their names. */
  readonly ids = new Map<string, string>();
  /** On which connections each command came. */
  readonly given = new Map<string, Link[]>();
  /** Commands of one source that it had not answered at one time: from one gateway, of those that this one could know of, and of all. */
  readonly most = { ofGateway: 0, known: 0, ofSource: 0 };
  /** The next gateway that gives a device a command dies before the log has it. */
  #diesNext = false;
  #sent = 0;

  constructor(
    readonly time: SimulatedTime,
    readonly random: Random,
  ) {
    this.log = new MachinesLog(time, random);
    this.gateways = Array.from({ length: 3 }, () => this.#start());
  }

  get open(): Link[] {
    return this.links.filter(({ isOpen }) => isOpen);
  }

  /** Everything goes wrong, and then nothing for long enough. */
  async run(steps: number): Promise<void> {
    await this.time.pass(3_000);
    for (let step = 0; step < steps; step++) {
      this.#step();
      await this.time.pass(this.random.chance(0.05) ? this.random.whole(1_000, 10_000) : this.random.whole(0, 300));
    }
    for (const { machine } of this.gateways) machine.thaw(this.random);
    this.#diesNext = false;
    this.log.awayUntilMs = 0;
    for (const gateway of this.gateways) gateway.log.lagMs = 20;
    for (const sourceId of sources) if (this.random.chance(0.7)) this.connect(sourceId);
    await this.time.pass(45_000);
  }

  connect(sourceId: string, gateway = this.random.pick(this.gateways)): void {
    const link = new Link(this, gateway.machine, sourceId);
    this.links.push(link);
    this.time.later(this.random.whole(0, 20), gateway.machine, () => {
      link.beganMs = this.time.nowMs;
      if (link.isOpen) gateway.connect(link);
    });
  }

  /** Gives the name of the command. */
  send(sourceId: string, gateway = this.random.pick(this.gateways.filter(({ machine }) => !machine.isFrozen))): string {
    const name = `c${this.#sent++}`;
    void gateway.machine
      .run(() => gateway.sender.send(orgId, sourceId, name, '{}'))
      .then(
        (id) => this.told.set(name, id !== undefined),
        (error: unknown) => {
          if (!(error instanceof TelemetryError)) this.#wrong.push(String(error));
          else if (error.code !== 'gateway_unreachable') this.again.add(name);
        },
      );
    return name;
  }

  /** What a sender was told that is not so, and what a device was given twice or by mistake. */
  wrongs(): string[] {
    const meant = new Map(this.log.of(commands).map(({ value }) => [value!.name, value!.connectionId]));
    const given = Array.from(this.given, ([name, on]) => {
      if (on.length > 1) return `${name} was given ${on.length} times`;
      return on[0]!.talk!.connectionId === meant.get(name) ? [] : `${name} was given to another connection`;
    });
    const told = Array.from(this.told, ([name, isQueued]) =>
      isQueued === this.given.has(name) ? [] : `the sender of ${name} was told: queued ${isQueued}`,
    );
    const twice = [...this.again]
      .filter((name) => this.given.has(name))
      .map((name) => `${name} was given, and its sender told to send it again`);
    return [...this.#wrong, ...given, ...told, ...twice].flat();
  }

  /** Sources that have a connection, in order. */
  get online(): string[] {
    return sources.filter((sourceId) => this.open.some((link) => link.isIn && link.sourceId === sourceId));
  }

  /** Where commands would go that should go elsewhere. */
  misled(): string[] {
    return this.gateways.flatMap(({ connections }) =>
      sources.flatMap((sourceId) => {
        const open = this.open.filter((link) => link.isIn && link.sourceId === sourceId);
        const newest = connections.newest(orgId, sourceId);
        const link = open.find(({ talk }) => talk!.connectionId === newest?.connectionId);
        const sinceMs = Math.max(...open.map(({ beganMs }) => beganMs)) - maxAppendMs;
        const isRight = newest ? link && link.beganMs >= sinceMs : open.length === 0;
        return isRight ? [] : `to ${sourceId} over ${JSON.stringify(newest)}, of ${open.map(({ talk }) => talk!.connectionId).join()}`;
      }),
    );
  }

  /** A device was given a command. */
  gave(link: Link, { id, command }: Given): void {
    this.ids.set(command, id);
    this.given.set(command, [...(this.given.get(command) ?? []), link]);
    const { appendedMs } = this.log.of(commands).find(({ value }) => value!.name === command)!;
    if (this.log.nowMs() - appendedMs >= maxHandOverMs) this.#wrong.push(`${command} was given late`);
    link.unanswered.set(id, this.time.nowMs);
    this.#countUnanswered(link);
    if (this.#diesNext) this.#crash(link.machine);
  }

  #countUnanswered({ sourceId, machine }: Link): void {
    const gateway = this.gateways.find((one) => one.machine === machine);
    const links = this.links.filter((link) => link.sourceId === sourceId);
    const all = links.flatMap((link) => Array.from(link.unanswered, ([id, atMs]) => ({ id, atMs, isOurs: link.machine === machine })));
    const unanswered = all.filter(({ atMs }) => atMs > this.time.nowMs - commandTtlMs);
    const ours = unanswered.filter(({ isOurs }) => isOurs);
    const known = unanswered.filter(({ id, isOurs }) => isOurs || gateway?.knows(sourceId, id));
    const { most } = this;
    most.ofGateway = Math.max(most.ofGateway, ours.length);
    most.known = Math.max(most.known, known.length);
    most.ofSource = Math.max(most.ofSource, unanswered.length);
  }

  #crash(machine: Machine): void {
    this.#diesNext = false;
    machine.isDead = true;
    this.gateways = this.gateways.map((one) => (one.machine === machine ? this.#start() : one));
  }

  #start(): GatewayMachine {
    const machine = new Machine(this.time);
    return machine.run(() => new GatewayMachine(this, machine));
  }

  #step(): void {
    const { random } = this;
    const sourceId = random.pick(sources);
    const gateway = random.pick(this.gateways);
    const what = random.whole(0, 99);
    if (what < 15) this.connect(sourceId);
    else if (what < 18 && this.open.length > 0) random.pick(this.open).end();
    else if (what < 50) this.send(sourceId);
    else if (what < 53) for (let left = random.whole(50, 100); left > 0; left--) this.send(sourceId);
    else if (what < 70) for (let left = random.whole(1, 20); left > 0; left--) this.#report();
    else if (what < 71) this.#crash(gateway.machine);
    else if (what < 73) this.#diesNext = true;
    else if (what < 78) this.#freeze(gateway);
    else if (what < 84) this.#slow(gateway);
    else if (what < 97) this.#repeat();
    else this.log.awayUntilMs = this.time.nowMs + random.whole(500, 8_000);
  }

  /** A device answers a command, perhaps again, on any of its connections. */
  #report(): void {
    const recent = [...this.ids].slice(-200);
    if (recent.length === 0) return;
    const [name, id] = this.random.pick(recent);
    const [on] = this.given.get(name)!;
    const link = this.open.find(({ sourceId, isIn }) => isIn && sourceId === on!.sourceId);
    if (!link) return;
    const frame = { type: 'command_result', id, command: 'c', event: this.random.pick(['ack', 'result']), result: 1 };
    this.time.later(this.random.whole(0, 20), link.machine, () => {
      // It counts as answered when the gateway may have heard of it.
      for (const one of this.links) one.unanswered.delete(id);
      link.talk!.take(Buffer.from(JSON.stringify(frame)));
    });
  }

  #freeze({ machine }: GatewayMachine): void {
    if (this.gateways.some((one) => one.machine.isFrozen)) return;
    machine.freeze();
    const forMs = this.random.whole(2_000, 40_000);
    this.time.later(forMs, undefined, () => {
      if (!machine.isFrozen) return;
      const held = this.open.filter((link) => link.isIn && link.machine === machine);
      machine.thaw(this.random);
      if (forMs < gatewayQuietMs) return;
      this.woken++;
      this.time.later(2_000, undefined, () => {
        if (!machine.isFrozen && held.some(({ isOpen }) => isOpen))
          this.#wrong.push(`a gateway that was frozen for ${forMs} ms has kept its connections`);
      });
    });
  }

  #slow({ log }: GatewayMachine): void {
    log.lagMs = this.random.whole(100, 6_000);
    this.time.later(this.random.whole(1_000, 10_000), undefined, () => (log.lagMs = 20));
  }

  /** Some command comes again, as its producer may send it again for so long. */
  #repeat(): void {
    const some = this.log.of(commands).filter(({ appendedMs }) => appendedMs > this.log.nowMs() - 20_000);
    if (some.length > 0) this.log.write([entry(commands, this.random.pick(some).value!)]);
  }
}
