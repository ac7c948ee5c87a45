import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Device } from '#client';
import type { DeviceOrder, DeviceState } from './device-process.js';

// A device in a process of its own: see `DeviceOrder`. It says how it is, and ends with its input.
const sayMs = 50;
const tickMs = 10;

const { connects, metric, tags, points, warmUp = 0, overMs, startMs, ...options } = JSON.parse(process.argv[2]!) as DeviceOrder;
const errors: string[] = [];
const commands: string[] = [];
let stampMs = startMs;
let phase: DeviceState['phase'] = 'warming up';
let handedOver = 0;

const device = new Device({ ...options, clock: () => stampMs, onError: ({ code }) => errors.push(code) });

function say(): void {
  const { lastError: _, ...stats } = device.stats;
  const memoryMb = process.memoryUsage.rss() / 2 ** 20;
  writeSync(1, `${JSON.stringify({ phase, stats, memoryMb, errors, commands } satisfies DeviceState)}\n`);
}

/** Of each ten points eight are numbers, a millisecond apart, and two are equal events of one millisecond. */
function handOverUpTo(end: number): void {
  for (; handedOver < end; handedOver++) {
    const place = handedOver % 10;
    const more = tags ? { tags } : {};
    stampMs = startMs + handedOver - (place < 8 ? 0 : place);
    if (place < 8) device.metric(metric, handedOver, more);
    else device.event('same', 'tick', more);
  }
}

async function leave(): Promise<void> {
  await device.close();
  say();
  process.exit();
}

device.command('whoami', (_, { id }) => {
  commands.push(id);
  return metric;
});
if (connects) await device.connect();
setInterval(say, sayMs);
process.stdin.resume().once('end', () => void leave());

handOverUpTo(warmUp);
await device.flush();
phase = 'handing over';
for (const beganMs = performance.now(); handedOver < points; await pause(tickMs)) {
  const share = (performance.now() - beganMs) / overMs;
  handOverUpTo(Math.min(points, warmUp + Math.ceil(share * (points - warmUp))));
}
phase = 'waiting';
await device.flush();
phase = 'settled';
