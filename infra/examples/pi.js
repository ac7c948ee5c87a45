// A small computer, such as a Raspberry Pi: sends its temperature, and lets itself be told how often. What it cannot send waits in a folder,
// also over a restart. Needs Node 22 and headwater-client.
//
//     HEADWATER_API_KEY=hw_... node pi.js --source pi --folder /var/lib/pi --seconds 1
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Device } from 'headwater-client';

const { source, folder, seconds } = parseArgs({
  options: {
    source: { type: 'string', default: 'pi' },
    folder: { type: 'string', default: 'pi-points' },
    seconds: { type: 'string', default: '1' },
  },
}).values;
const device = new Device({ sourceId: source, buffer: { folder }, onError: ({ message }) => console.error(message) });
let timer;

/** Of the processor, in degrees Celsius. Where the machine does not tell, something like it. */
function temperature() {
  try {
    return Number(readFileSync('/sys/class/thermal/thermal_zone0/temp', 'utf8')) / 1000;
  } catch {
    return 45 + 5 * Math.sin(Date.now() / 60_000) + Math.random();
  }
}

function measureEvery(pause) {
  if (!(pause >= 0.1 && pause <= 3600)) throw new Error('Give seconds from 0.1 to 3600.');
  clearInterval(timer);
  timer = setInterval(() => device.metric('cpu.temperature', temperature()), 1000 * pause);
  return { seconds: pause };
}

async function end() {
  clearInterval(timer);
  await device.close();
  const { stored, buffered } = device.stats;
  console.log(`${stored} stored, ${buffered.points} left in ${folder}`);
}

device.command('set-interval', (params) => measureEvery(params.seconds));
device.event('started', { node: process.version });
void device.connect();
measureEvery(Number(seconds));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end());
