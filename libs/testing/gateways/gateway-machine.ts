import type { WebSocket } from 'ws';
import { CommandDelivery } from '../../../apps/gateway/commands/command-delivery.js';
import { CommandReports } from '../../../apps/gateway/commands/command-reports.js';
import { CommandSender } from '../../../apps/gateway/commands/command-sender.js';
import { CommandStates } from '../../../apps/gateway/commands/command-states.js';
import { DeviceConnections } from '../../../apps/gateway/device/device-connections.js';
import type { DeviceServices } from '../../../apps/gateway/device/device-services.js';
import { DeviceTalk } from '../../../apps/gateway/device/device-talk.js';
import { GatewayLife } from '../../../apps/gateway/device/gateway-life.js';
import { Leftovers } from '../../../apps/gateway/device/leftovers.js';
import { Pauses } from '../../../apps/gateway/device/pauses.js';
import { PresenceLog } from '../../../apps/gateway/device/presence-log.js';
import { Connections, InFlight, inFlightLimits, LiveSocket, Metrics, Readiness, Slices } from '#edge';
import { LogViews, type RecordLog, type View } from '#log';
import { atOnce, TelemetryError, type CommandState } from '#model';
import { commandKey, commandStates, gateways, presence } from '#topics';
import { orgId, type Link } from './link.js';
import type { Random } from '../random.js';
import type { Machine, SimulatedTime } from './machines.js';
import type { MachineLog, MachinesLog } from './machines-log.js';

const caller = { orgId, keyId: 'k', scopes: [] };

/** What all gateways share. */
export interface Shared {
  readonly log: MachinesLog;
  readonly time: SimulatedTime;
  readonly random: Random;
}

/** One run of a gateway: its real parts, on a machine of its own. */
export class GatewayMachine {
  readonly log: MachineLog;
  readonly life: GatewayLife;
  readonly connections: Connections;
  readonly sender: CommandSender;
  readonly #services: DeviceServices;
  readonly #states: View<CommandState>;
  readonly #readiness = new Readiness();

  /** To be called in the machine. */
  constructor(
    { log: shared, time, random }: Shared,
    readonly machine: Machine,
  ) {
    this.log = shared.client(this.machine, [commandStates]);
    const [monotonicMs, aheadMs] = [() => time.nowMs + 1_000, random.whole(-500, 500)];
    const clock = (): number => shared.nowMs() + aheadMs;
    const log = this.log as unknown as RecordLog;
    const [metrics, slices] = [new Metrics(), new Slices()];
    const views = new LogViews(log, [presence, gateways, commandStates]);
    this.#states = views.open(commandStates);
    const presenceLog = new PresenceLog(log);
    const leftovers = new Leftovers(views, log, presenceLog, slices, undefined, monotonicMs);
    this.life = new GatewayLife(log, clock, this.#readiness, leftovers, monotonicMs);
    const open = new DeviceConnections(this.life, metrics);
    const states = new CommandStates(views, log, clock, monotonicMs);
    const delivery = new CommandDelivery(log, open, this.life, states, this.#readiness, metrics, monotonicMs);
    this.connections = new Connections(views, clock, monotonicMs);
    this.sender = new CommandSender(log, clock, this.connections, states, this.#readiness);
    const reports = new CommandReports(log, clock, states, metrics);
    const [inFlight, pauses, rates] = [
      new InFlight(inFlightLimits, metrics),
      new Pauses(metrics),
      { check: () => 0, charge: () => undefined },
    ];
    this.#services = { life: this.life, presenceLog, connections: open, reports, slices, inFlight, pauses, rates } as never;
    this.life.onModuleInit();
    delivery.onModuleInit();
  }

  /** Lets a device in, or closes its connection. */
  connect(link: Link): void {
    const socket = new LiveSocket(link as unknown as WebSocket, link as never, '127.0.0.1');
    try {
      if (!this.#readiness.isOpen) throw new TelemetryError('not_ready', 'Soon.');
      this.life.check();
      const login = { apiKey: '', sourceId: link.sourceId, acks: false, runs: new Set<string>(), runBytes: 0 };
      link.talk = new DeviceTalk(socket, caller, login, 'r', this.#services);
    } catch {
      link.close();
    }
  }

  /** Whether it has read of a command that a gateway has handed over and its device has not answered. */
  knows(sourceId: string, commandId: string): boolean {
    return this.#states.get(commandKey({ orgId, sourceId, commandId }))?.isAcknowledged === false;
  }

  online(): string[] {
    return [...atOnce(this.connections.online(caller))].toSorted();
  }
}
