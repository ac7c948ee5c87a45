import { HeadwaterError } from '../error.js';
import { objectIn } from '../request.js';
import { monotonicMs, pause } from '../waiting.js';
import type { Access, Asked } from './access.js';
import type { CommandReceipt, LogEntry } from './types.js';

/** So many of the newest outcomes are searched for the one of this command. */
const looked = 1_000;

export interface CommandOptions extends Asked {
  /** Wait until the device says how it ended. */
  readonly wait?: boolean;
  /** How long to wait: 30 seconds unless it is given. */
  readonly timeoutMs?: number;
  /** Is told when the device has said that it has the command. */
  readonly onAcknowledged?: () => void;
}

export interface Ended {
  readonly id: string;
  /** As the device has answered; undefined when it has answered with nothing, or nobody has waited. */
  readonly result?: unknown;
}

/** As `command.result` holds it; an event of that name which the device has sent by itself may hold anything. */
interface Outcome {
  readonly id?: string;
  readonly event?: 'ack' | 'result' | 'error';
  readonly result?: unknown;
  readonly error?: unknown;
}

/**
 * Hands a command to a device, which gets it once, on its newest connection, or never.
 *
 * @param path of the source.
 */
export async function sendCommand(
  access: Access,
  path: string,
  command: { readonly command: string; readonly params: object },
  options: CommandOptions,
): Promise<Ended> {
  const { queued, id } = await access.send<CommandReceipt>('POST', `${path}/commands`, command, options);
  if (!queued || id === undefined)
    throw new HeadwaterError('The device did not get the command: it is not connected, or has 64 unanswered ones.', 'not_delivered');
  if (!options.wait) return { id };
  const { event, result, error } = await outcomeOf(access, path, id, options);
  if (event === 'error')
    throw new HeadwaterError(`The device answered with an error: ${JSON.stringify(error ?? null)}`, 'command_failed', { cause: error });
  return { id, result };
}

/** How the command ended. Rejects when that is not known in time. */
async function outcomeOf(access: Access, path: string, id: string, options: CommandOptions): Promise<Outcome> {
  const { timeoutMs = 30_000, onAcknowledged, signal } = options;
  const endMs = monotonicMs() + timeoutMs;
  let isAcknowledged = false;
  for (let waitMs = 100; ; waitMs = Math.min(1.5 * waitMs, 1000)) {
    const entries = await access.get<readonly LogEntry[]>(`${path}/logs`, { name: 'command.result', tail: looked }, { signal });
    const ours = entries.map(({ value }): Outcome => objectIn(value)).filter((outcome) => outcome.id === id);
    const end = ours.find(({ event }) => event !== 'ack');
    if (end) return end;
    if (ours.length > 0 && !isAcknowledged) {
      isAcknowledged = true;
      onAcknowledged?.();
    }
    const leftMs = endMs - monotonicMs();
    if (leftMs <= 0) {
      const sofar = isAcknowledged ? 'has the command and has not said how it ended' : 'has not answered';
      throw new HeadwaterError(
        `The device ${sofar} within ${timeoutMs / 1000} s: its answer will be an event command.result with the id ${id}.`,
        'no_outcome',
      );
    }
    await pause(Math.min(waitMs, leftMs), signal);
  }
}
