import { setTimeout as pause } from 'node:timers/promises';
import { bytesOf, hostileBodies, plainBody, type HostileBody } from './hostile-bodies.js';
import { HostileFloor } from './hostile-floor.js';
import { median, print, spread, type Asked, type Figure } from './report.js';
import { ServerProcess } from './server-process.js';

/** Longer than the server puts anything off: it checkpoints every ten seconds. */
const windowMs = 11_000;
const probeEveryMs = 5;
const probedTailMs = 1_000;
/** So many bodies are not charged: until then V8 still compiles what they need. */
const warmBodies = 15;

async function send(server: ServerProcess, one: HostileBody, round: number): Promise<void> {
  const headers = { 'x-api-key': server.key, 'content-type': 'application/json', ...(one.gzip && { 'content-encoding': 'gzip' }) };
  const answer = await fetch(`${server.url}/ingest`, { method: 'POST', headers, body: new Uint8Array(bytesOf(one, round)) });
  if (!answer.ok) throw new Error(`${one.name}: ${answer.status} ${await answer.text()}`);
}

/** The longest time that an answer of `/health` takes during a task and a second behind it, milliseconds. */
async function silenceMs(server: ServerProcess, task: () => Promise<void>): Promise<number> {
  const probe = { isOver: false };
  const end = task()
    .then(() => pause(probedTailMs))
    .finally(() => (probe.isOver = true));
  let longestMs = 0;
  while (!probe.isOver) {
    const begunMs = performance.now();
    await (await fetch(`${server.url}/health`)).arrayBuffer();
    longestMs = Math.max(longestMs, performance.now() - begunMs);
    await pause(probeEveryMs);
  }
  await end;
  return longestMs;
}

/** CPU seconds of the server during a task and all that it put off. */
async function charged(server: ServerProcess, task: () => Promise<void>): Promise<number> {
  const before = server.cpuS();
  await task();
  await pause(windowMs);
  return server.cpuS() - before;
}

/** CPU seconds of the floor for a body, on average. The first bodies are not charged, as with the server; its little code is soon compiled. */
function floorS(floor: HostileFloor, one: HostileBody, bodies: number): number {
  const seconds = Array.from({ length: bodies + 2 }, (_, round) => floor.cpuS(one.text(round)));
  return seconds.slice(2).reduce((sum, s) => sum + s, 0) / bodies;
}

/** On a server of its own: what the bodies before have left in the memory of one is not charged to the next. */
async function measure(one: HostileBody, floor: HostileFloor, bodies: number): Promise<void> {
  const server = await ServerProcess.embedded();
  try {
    let round = 0;
    for (let body = 0; body < warmBodies; body++) for (const of of [plainBody, one]) await send(server, of, round++);
    await pause(windowMs);
    const idleS = await charged(server, async () => {});
    const silences: number[] = [];
    while (silences.length < bodies) silences.push(await silenceMs(server, () => send(server, one, round++)));
    const busyS = await charged(server, async () => {
      for (let body = 0; body < bodies; body++) await send(server, one, round++);
    });
    const cpuS = (busyS - idleS) / bodies;
    const leastS = floorS(floor, one, bodies);
    print(`hostile: ${one.name}, ${bytesOf(one, 0).length} bytes as sent, ${bodies} bodies`, {
      'cpu-s of a body, on average': cpuS.toFixed(3),
      'cpu-s of the floor, and times it': `${leastS.toFixed(3)}, ${(cpuS / leastS).toFixed(1)}`,
      'longest silence of /health, ms': spread(silences, 0),
      'goal: at most 0.2 cpu-s, 50 ms': cpuS <= 0.2 && median(silences) <= 50 ? 'met' : 'missed',
    });
  } finally {
    await server.remove();
  }
}

async function run({ pairs: bodies }: Asked): Promise<void> {
  const floor = new HostileFloor();
  try {
    for (const one of [plainBody, ...hostileBodies]) await measure(one, floor, bodies);
  } finally {
    floor.remove();
  }
}

export const hostileFigure: Figure = {
  names: { hostile: 'bodies made to be costly: their CPU, and how long /health is silent' },
  shape: 'embedded',
  run,
};
