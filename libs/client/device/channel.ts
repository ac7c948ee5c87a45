import { HeadwaterError, known } from '../error.js';
import type { Server } from '../request.js';
import { pauseMs } from '../retry.js';
import { bell, monotonicMs } from '../waiting.js';
import { type Commands, commandsOver } from './commands.js';
import { type Connection, connection } from './connection.js';
import type { Pace, PointChannel } from './sender.js';

/** A connection that has lasted for so long was a good one. */
const goodMs = 10_000;
/** Tries that a connection which ends counts for: many devices may have lost theirs at once. */
const lostTries = 2;

export interface ChannelListener {
  /** Points can be sent over it, or more of them. */
  readonly ready: () => void;
  readonly failed: (error: HeadwaterError) => void;
}

/** The real-time channel: it connects again whenever its connection ends. */
export interface Channel extends PointChannel {
  readonly commands: Commands;
  /** Resolves once the server lets the device in. Rejects `HeadwaterError` when it refuses to, or when the device is closed. */
  connect(): Promise<void>;
  /** Resolves once the server knows how the commands have ended, or cannot be told. */
  reported(): Promise<void>;
  close(): void;
}

export const closed = (): HeadwaterError => new HeadwaterError('The device was closed: make another one.', 'closed');

export function channelTo(
  server: () => Promise<Server>,
  sourceId: string,
  pace: Pace,
  listener: ChannelListener,
  socket: typeof WebSocket | undefined,
): Channel {
  const { ring, wait } = bell();
  let current: Connection | undefined;
  let isRunning = false;
  let isClosed = false;
  let waiting: { readonly resolve: () => void; readonly reject: (error: HeadwaterError) => void }[] = [];
  const commands = commandsOver((frame) => {
    if (current?.isIn) current.say(frame);
  });

  async function run(): Promise<void> {
    isRunning = true;
    for (let tries = 0; ;) {
      if (isClosed) return;
      const beganMs = monotonicMs();
      const { wasIn, refused } = await once();
      if (refused) {
        listener.failed(refused);
        settle(refused);
        await wait(pace.slowMs * (0.5 + Math.random()));
      } else {
        if (wasIn && monotonicMs() - beganMs > goodMs) tries = 0;
        await wait(pauseMs(undefined, tries++ + (wasIn ? lostTries : 0), pace));
      }
    }
  }

  /** One connection, until it ends. */
  async function once(): Promise<{ readonly wasIn: boolean; readonly refused: HeadwaterError | undefined }> {
    let wasIn = false;
    try {
      const to = await server();
      const refused = await new Promise<HeadwaterError | undefined>((resolve) => {
        current = connection(
          to,
          { sourceId, commands: commands.names() },
          {
            opened() {
              wasIn = true;
              commands.opened();
              settle();
              listener.ready();
            },
            landed: listener.ready,
            heard: commands.hear,
            failed: listener.failed,
            ended(code, why) {
              if (!wasIn && !why && !isClosed)
                listener.failed(new HeadwaterError(`The real-time channel to ${to.url} does not open (${code}).`, 'no_answer'));
              current = undefined;
              listener.ready();
              resolve(why);
            },
          },
          socket ?? globalThis.WebSocket,
        );
        if (isClosed) current.close();
      });
      return { wasIn, refused };
    } catch (error) {
      return { wasIn, refused: known(error, 'There is no WebSocket here: give one as webSocket.', 'invalid_argument') };
    }
  }

  function settle(error?: HeadwaterError): void {
    for (const { resolve, reject } of waiting.splice(0)) {
      if (error) reject(error);
      else resolve();
    }
  }

  return {
    commands,
    get isOpen() {
      return current?.isOpen ?? false;
    },
    get hasRoom() {
      return current?.hasRoom ?? false;
    },
    send: async (points) => current?.send(points) ?? 'unknown',
    connect: () =>
      new Promise((resolve, reject) => {
        if (current?.isIn) return resolve();
        waiting.push({ resolve, reject });
        if (!isRunning) void run();
      }),
    async reported() {
      if (current?.isIn) await commands.acknowledged();
    },
    close() {
      isClosed = true;
      commands.close();
      current?.close();
      settle(closed());
      ring();
    },
  };
}
