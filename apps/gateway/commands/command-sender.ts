import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, Connections, Readiness, type Clock } from '#edge';
import { entry, RECORD_LOG, type RecordLog } from '#log';
import { newCommandId, tally, TelemetryError, type Command } from '#model';
import { commandKey, commands } from '#topics';
import { CommandStates } from './command-states.js';

/** How long a gateway may take to reply. */
const replyMs = 5_000;
/** Commands of one organization that wait for a reply here. */
const maxWaiting = 1_000;

/** Sends commands to devices, wherever they are connected: through the log, to the gateway that holds their newest connection. */
@Injectable()
export class CommandSender {
  /** Who waits for what became of a command, by its key. */
  readonly #waiting = new Map<string, (isQueued: boolean) => void>();
  /** How many wait, by organization. */
  readonly #waitingOf = new Map<string, number>();

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly connections: Connections,
    states: CommandStates,
    readiness: Readiness,
  ) {
    readiness.need(connections.ready);
    states.changes((key, state) => this.#waiting.get(key)?.(state !== null));
  }

  /**
   * Resolves with the id of the command once it was handed to the device, and with undefined when the device has no connection or no room
   * for it, and never gets it. Rejects `gateway_unreachable` when nobody knows: also where the log could not be written, for the record may be
   * in it all the same, or get there later. Rejects `over_rate` when too many commands of the organization wait already.
   */
  async send(orgId: string, sourceId: string, name: string, params: string): Promise<string | undefined> {
    const connection = this.connections.newest(orgId, sourceId);
    if (!connection) return undefined;
    const waiting = this.#waitingOf.get(orgId) ?? 0;
    if (waiting >= maxWaiting) throw new TelemetryError('over_rate', 'Wait for the answers to earlier commands, then send this one again.');
    const { connectionId, gatewayId } = connection;
    const sentMs = this.clock();
    const commandId = newCommandId(sentMs, randomBytes(12));
    const command: Command = { orgId, sourceId, commandId, connectionId, gatewayId, name, params, sentMs };
    return (await this.#reply(command)) ? commandId : undefined;
  }

  async #reply(command: Command): Promise<boolean> {
    const key = commandKey(command);
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => reject(nobodyKnows()), replyMs);
    this.#waiting.set(key, resolve);
    tally(this.#waitingOf, command.orgId, 1);
    this.log.append([entry(commands, command)]).catch((cause: unknown) => reject(isAway(cause) ? nobodyKnows(cause) : cause));
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(key);
      tally(this.#waitingOf, command.orgId, -1);
    }
  }
}

const isAway = (error: unknown): boolean => error instanceof TelemetryError && error.code === 'log_unavailable';

const nobodyKnows = (cause?: unknown): TelemetryError =>
  new TelemetryError(
    'gateway_unreachable',
    'No gateway has said that the device has the command, which it may have got or may still get: look for its command.result among the logs of the device before you send it again.',
    { cause },
  );
