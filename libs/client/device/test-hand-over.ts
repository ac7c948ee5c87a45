import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Device } from '../index.js';

// A device that is killed: it hands over events, one after the other, and says so of each.
const [sourceId = '', folder = '', first = '0'] = process.argv.slice(2);
const device = new Device({ sourceId, buffer: { folder }, retry: { firstMs: 20, maxMs: 100 } });
if (process.env['CONNECT']) void device.connect();
for (let number = Number(first); ; number++) {
  device.event('number', number);
  device.event('same', 'tick');
  writeSync(1, `${number}\n`);
  await pause(number % 50 === 0 ? 50 : 1);
}
