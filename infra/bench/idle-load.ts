import { setTimeout as pause } from 'node:timers/promises';
import { closeAll, device, openAll } from './live-client.js';
import { work } from './processes.js';
import type { Target } from './server-process.js';
import { sourceName } from './shapes.js';

/** Devices that are connected, answer pings and send their heartbeats. */
export interface IdleOrder extends Target {
  readonly devices: number;
}

const heartbeatMs = 30_000;

await work(async ({ devices, ...target }: IdleOrder) => {
  const sockets = await openAll(devices, (at) => device(target, sourceName(at)));
  // Each at its own time.
  const timers = sockets.map((socket, at) => {
    const beat = (): void => socket.send('{"type":"heartbeat"}');
    return setTimeout(
      () => {
        beat();
        timers[at] = setInterval(beat, heartbeatMs);
      },
      (heartbeatMs * at) / devices,
    );
  });
  return async () => {
    for (const timer of timers) clearInterval(timer);
    await pause(100);
    await closeAll(sockets);
    return 'closed';
  };
});
