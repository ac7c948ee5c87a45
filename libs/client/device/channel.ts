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
  const waiting: ((error?: HeadwaterError) => void)[] = [];
  const commands = commandsOver((frame) => {
    if (current?.isOpen) current.say(frame);
  });

  async function run(): Promise<void> {
    isRunning = true;
    for (let tries = 0; ;) {
      if (isClosed) return;
      const beganMs = monotonicMs();
      let wasIn = false;
      let refused: HeadwaterError | undefined;
      try {
        refused = await once(await server(), () => (wasIn = true));
      } catch (error) {
        refused = known(error, 'There is no WebSocket here: give one as webSocket.', 'invalid_argument');
      }
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

  /** One connection, until it ends. Resolves to why the server has refused the device. */
  const once = (to: Server, letIn: () => void): Promise<HeadwaterError | undefined> =>
    new Promise((resolve) => {
      current = connection(
        to,
        { sourceId, commands: commands.names() },
        {
          opened() {
            letIn();
            commands.opened();
            settle();
            listener.ready();
          },
          landed: listener.ready,
          heard: commands.hear,
          failed: listener.failed,
          ended(refused) {
            current = undefined;
            listener.ready();
            resolve(refused);
          },
        },
        socket ?? globalThis.WebSocket,
      );
      if (isClosed) current.close();
    });

  function settle(error?: HeadwaterError): void {
    for (const tell of waiting.splice(0)) tell(error);
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
        if (current?.isOpen) return resolve();
        waiting.push((error) => (error ? reject(error) : resolve()));
        if (!isRunning) void run();
      }),
    async reported() {
      if (current?.isOpen) await commands.acknowledged();
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
