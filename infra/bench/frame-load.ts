import type { RawData, WebSocket } from 'ws';
import { closeAll, device, openAll } from './live-client.js';
import type { LoadOrder, LoadReport } from './load.js';
import { work } from './processes.js';
import { bodyOf, sourceName } from './shapes.js';

/** Frames of a device that are not acknowledged yet. */
const maxUnacknowledged = 32;

/** Sends its frames as fast as they are acknowledged. Resolves when the last one is. */
function sendAll(socket: WebSocket, frames: readonly Buffer[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let [sent, acknowledged] = [0, 0];
    const sendMore = (): void => {
      while (sent < frames.length && sent - acknowledged < maxUnacknowledged) socket.send(frames[sent++]!, { binary: false });
    };
    socket.on('message', (data: RawData) => {
      const { type, seq } = JSON.parse((data as Buffer).toString()) as { readonly type: string; readonly seq: number };
      if (type !== 'telemetry_ack') reject(new Error(`a frame of the bench was refused: ${(data as Buffer).toString()}`));
      acknowledged = seq;
      if (acknowledged === frames.length) resolve();
      else sendMore();
    });
    sendMore();
  });
}

/** The bodies of a shape as frames of devices: each source is one of them. */
await work(async ({ url, key, shape, startMs }: LoadOrder) => {
  const { sources, bodies, firstSource = 0 } = shape;
  const framesOf = Array.from({ length: sources }, (): Buffer[] => []);
  for (let body = 0; body < bodies; body++) {
    const frames = framesOf[body % sources]!;
    const points = bodyOf(shape, body, startMs).replace(/^.*?,/, '');
    frames.push(Buffer.from(`{"type":"telemetry","seq":${frames.length + 1},${points}`));
  }
  const sockets = await openAll(sources, (at) => device({ url, key }, sourceName(firstSource + at)));
  return async (): Promise<LoadReport> => {
    const begun = performance.now();
    const cpu = process.cpuUsage();
    await Promise.all(sockets.map((socket, at) => sendAll(socket, framesOf[at]!)));
    const { user, system } = process.cpuUsage(cpu);
    const wallS = (performance.now() - begun) / 1e3;
    await closeAll(sockets);
    const sentBytes = framesOf.flat().reduce((sum, frame) => sum + frame.length, 0);
    return { wallS, cpuS: (user + system) / 1e6, sentBytes, refused: 0 };
  };
});
