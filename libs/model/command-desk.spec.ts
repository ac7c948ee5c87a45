import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { CommandDesk, maxHandOverMs, maxUndelivered } from './command-desk.js';
import { afterReport, type CommandReport, type CommandState } from './command.js';
import { newestConnection } from './presence.js';
import type { Presence } from './source.js';

const keyOf = (id: number): string => `o/s/${id}`;

describe('the desk of a gateway', () => {
  const give = (desk: CommandDesk, ids: readonly number[], nowMs: number): string[] => ids.map((id) => desk.decide(keyOf(id), 0, nowMs));
  const first64 = Array.from({ length: maxUndelivered }, (_, at) => at);

  it.each([
    [0, 'hand_over'],
    [maxHandOverMs - 1, 'hand_over'],
    [maxHandOverMs, 'late'],
    [Number.NaN, 'late'],
  ])('makes of a command that is %d ms old: %s', (ageMs, verdict) => {
    expect(new CommandDesk().decide(keyOf(1), ageMs, 0)).toBe(verdict);
  });

  it('hands over 64 commands and not the 65th, until one is answered or 30 seconds have gone by', () => {
    const desk = new CommandDesk();
    expect(new Set(give(desk, first64, 0))).toEqual(new Set(['hand_over']));
    expect(give(desk, [64], 0)).toEqual(['full']);
    expect(desk.decide('o/other/1', 0, 0)).toBe('hand_over');
    desk.settled(keyOf(7));
    expect(give(desk, [65, 66], 29_999)).toEqual(['hand_over', 'full']);
    expect(give(desk, [67], 30_000)).toEqual(['hand_over']);
    expect(desk.undelivered('o/s')).toBe(2);
  });

  it('decides each command once, whatever became of it', () => {
    const desk = new CommandDesk();
    give(desk, first64, 0);
    give(desk, [64], 0);
    desk.settled(keyOf(0));
    expect(give(desk, [0, 63, 64], 59_999)).toEqual(['repeated', 'repeated', 'repeated']);
  });

  it('counts what other gateways have handed over, once', () => {
    const desk = new CommandDesk();
    for (const id of [...first64, 3]) desk.handedOver(keyOf(id), 0);
    expect(give(desk, [64], 0)).toEqual(['full']);
    desk.settled(keyOf(3));
    expect(give(desk, [65], 0)).toEqual(['hand_over']);
  });

  it('does not count a command again that it has handed over itself and that is answered', () => {
    const desk = new CommandDesk();
    give(desk, [1], 0);
    desk.settled(keyOf(1));
    desk.handedOver(keyOf(1), 1);
    expect(desk.undelivered('o/s')).toBe(0);
  });

  it('lets a minute have 250,000 commands', () => {
    const desk = new CommandDesk();
    for (let id = 0; id < 250_000; id++) desk.decide(keyOf(id), Infinity, 0);
    expect([desk.decide('o/other/1', 0, 1), desk.decide('o/other/1', 0, 60_000)]).toEqual(['full', 'hand_over']);
  });
});

describe('the reports of a command', () => {
  const handedOver: CommandState = { orgId: 'o', sourceId: 's', commandId: 'c', name: 'n', sentMs: 1, isAcknowledged: false };
  it.each<[readonly CommandReport[], readonly CommandReport[]]>([
    [
      ['ack', 'result'],
      ['ack', 'result'],
    ],
    [['result'], ['result']],
    [['error', 'ack', 'error'], ['error']],
    [['status', 'status', 'error', 'result'], ['error']],
    [
      ['ack', 'ack', 'status', 'result', 'result'],
      ['ack', 'result'],
    ],
  ])('%j are the outcomes %j', (reports, outcomes) => {
    let state: CommandState | null = handedOver;
    const kept: CommandReport[] = [];
    for (const report of reports) {
      const reported: ReturnType<typeof afterReport> | null = state && afterReport(state, report);
      if (!reported) continue;
      if (reported.isOutcome) kept.push(report);
      state = reported.state;
    }
    expect(kept).toEqual(outcomes);
  });
});

interface Sent {
  readonly key: string;
  readonly connectionId: string;
  readonly gatewayId: string;
  readonly sentMs: number;
  readonly appendedMs: number;
}

interface Open {
  readonly connectionId: string;
  readonly gateway: SimulatedGateway;
}

/** One run of a gateway process: it reads the logs of commands and states at its own pace. */
class SimulatedGateway {
  readonly desk = new CommandDesk();
  readonly open = new Set<string>();
  /** Commands that it knows to be handed over and not to have ended. */
  readonly known = new Set<string>();
  isDown = false;
  nextCommand: number;
  nextState: number;

  constructor(
    private readonly world: World,
    readonly id: string,
  ) {
    this.nextCommand = world.commands.length;
    this.nextState = world.states.length;
  }

  readCommand(at: number): void {
    const command = this.world.commands[at];
    if (!command || this.isDown || command.gatewayId !== this.id) return;
    const { key, connectionId, appendedMs } = command;
    const verdict = this.desk.decide(key, this.world.nowMs - appendedMs, this.world.nowMs);
    if (verdict === 'repeated') return;
    const isOpen = verdict === 'hand_over' && this.open.has(connectionId);
    if (isOpen) this.world.handOver(key, connectionId);
    else this.desk.settled(key);
    // The process may die here, between the device and the log.
    if (isOpen && this.world.diesNext) return this.world.crash(this);
    if (isOpen) this.known.add(key);
    this.world.states.push({ key, value: isOpen });
  }

  readState(): void {
    const state = this.world.states[this.nextState];
    if (!state || this.isDown) return;
    this.nextState++;
    if (state.value) this.desk.handedOver(state.key, this.world.nowMs);
    else this.settle(state.key);
    if (state.value) this.known.add(state.key);
  }

  settle(key: string): void {
    this.desk.settled(key);
    this.known.delete(key);
  }
}

/** One device, two gateways at a time, and a sender: everything random but the desk and the choice of a connection. */
class World {
  nowMs = 0;
  diesNext = false;
  /** Commands that one connection had not answered at one time. */
  most = 0;
  readonly commands: Sent[] = [];
  /** True says that the command was handed over, false that it was not or that it has ended. */
  readonly states: { readonly key: string; readonly value: boolean }[] = [];
  readonly presence = new Map<string, Presence>();
  /** The reference: what the device has got, on which connection. */
  readonly got = new Map<string, string[]>();
  readonly unanswered = new Map<string, { readonly connectionId: string; readonly untilMs: number }>();
  readonly #heardMs = new Map<string, number>();
  readonly #open: Open[] = [];
  #gateways: SimulatedGateway[] = [];
  #made = 0;

  constructor() {
    this.#gateways = [this.#gateway(), this.#gateway()];
  }

  step(what: number, which: number): void {
    const gateway = this.#gateways[which % this.#gateways.length]!;
    const connection = this.#open[which % Math.max(1, this.#open.length)];
    if (what < 2) this.#connect(gateway);
    else if (what < 3) this.#drop(connection);
    else if (what < 12) this.#send();
    else if (what < 13) for (let sent = 0; sent < which; sent++) this.#send();
    else if (what < 14) this.crash(gateway);
    else if (what < 15) this.diesNext = true;
    else if (what < 17) this.nowMs += which * 10;
    else if (what < 18) gateway.readCommand(which);
    else if (what < 20) this.#report(which, connection);
    else if (what < 21 && this.commands.length > 0)
      this.commands.push({ ...this.commands[which % this.commands.length]!, appendedMs: this.nowMs });
    else if (what < 26) while (gateway.nextCommand < this.commands.length && !gateway.isDown) gateway.readCommand(gateway.nextCommand++);
    else while (gateway.nextState < this.states.length && !gateway.isDown) gateway.readState();
    for (const one of this.#gateways) if (!one.isDown) this.#heardMs.set(one.id, this.nowMs);
  }

  handOver(key: string, connectionId: string): void {
    this.got.set(key, [...(this.got.get(key) ?? []), connectionId]);
    for (const [other, { untilMs }] of this.unanswered) if (untilMs <= this.nowMs) this.unanswered.delete(other);
    this.unanswered.set(key, { connectionId, untilMs: this.nowMs + 30_000 });
    const here = [...this.unanswered.values()].filter((one) => one.connectionId === connectionId);
    this.most = Math.max(this.most, here.length);
  }

  crash(gateway: SimulatedGateway): void {
    this.diesNext = false;
    gateway.isDown = true;
    for (const one of this.#open.splice(0)) if (one.gateway !== gateway) this.#open.push(one);
    this.#gateways = this.#gateways.map((one) => (one === gateway ? this.#gateway() : one));
  }

  /** Commands that came to a device twice or on another connection than theirs, and senders who were told what is not so. */
  wrongs(): unknown[] {
    return this.commands.filter(({ key, connectionId }) => {
      const got = this.got.get(key) ?? [];
      // The first state of a command that the log shows is the reply to its sender.
      const reply = this.states.find((state) => state.key === key)?.value;
      return got.length > 1 || got.some((on) => on !== connectionId) || (reply !== undefined && reply !== (got.length === 1));
    });
  }

  #gateway(): SimulatedGateway {
    return new SimulatedGateway(this, `g${this.#made++}`);
  }

  #connect(gateway: SimulatedGateway): void {
    const connectionId = `c${this.#made++}`;
    gateway.open.add(connectionId);
    this.#open.push({ connectionId, gateway });
    this.presence.set(connectionId, { orgId: 'o', sourceId: 's', connectionId, gatewayId: gateway.id, connectedMs: this.nowMs });
  }

  #drop(connection: Open | undefined): void {
    if (!connection) return;
    connection.gateway.open.delete(connection.connectionId);
    this.#open.splice(this.#open.indexOf(connection), 1);
    this.presence.delete(connection.connectionId);
  }

  #send(): void {
    const newest = newestConnection(this.presence.values(), (id) => this.nowMs - (this.#heardMs.get(id) ?? -Infinity));
    if (!newest) return;
    const { connectionId, gatewayId } = newest;
    const times = { sentMs: this.nowMs, appendedMs: this.nowMs };
    this.commands.push({ key: keyOf(this.#made++), connectionId, gatewayId, ...times });
  }

  /** The device answers one command on one of its connections, also on another than that on which it got it. */
  #report(which: number, connection: Open | undefined): void {
    const key = [...this.unanswered.keys()][which % Math.max(1, this.unanswered.size)];
    if (!key || !connection?.gateway.known.has(key)) return;
    this.unanswered.delete(key);
    connection.gateway.settle(key);
    this.states.push({ key, value: false });
  }
}

it('hands over no command twice and tells no sender what is not so, whatever dies, comes again or is late', () => {
  const steps = fc.array(fc.tuple(fc.nat(29), fc.nat(400)), { minLength: 50, maxLength: 400 });
  fc.assert(
    fc.property(steps, (all) => {
      const world = new World();
      for (const [what, which] of all) world.step(what, which);
      expect(world.wrongs()).toEqual([]);
      expect(world.most).toBeLessThanOrEqual(maxUndelivered);
    }),
    { numRuns: 300 },
  );
});
