import { setTimeout as pause } from 'node:timers/promises';
import { bytesOf, hostileBodies, plainBody, type HostileBody } from './hostile-bodies.js';
import { median, print, ratios, spread, type Asked, type Figure } from './report.js';
import { ServerProcess } from './server-process.js';

/** Long enough for what the server put off. */
const tailMs = 3_000;
const probeEveryMs = 5;

/** What one body cost. */
interface Cost {
  readonly cpuS: number;
  /** The longest time in which `/health` was not answered. */
  readonly silenceMs: number;
}

/** Asks for `/health` one after the other until `task` is done, `tailMs` long and more. Returns the longest time that an answer took. */
async function probed(url: string, task: Promise<void>): Promise<number> {
  const probe = { isOver: false };
  const end = task.then(() => pause(tailMs)).finally(() => (probe.isOver = true));
  let longestMs = 0;
  while (!probe.isOver) {
    const begunMs = performance.now();
    await (await fetch(`${url}/health`)).arrayBuffer();
    longestMs = Math.max(longestMs, performance.now() - begunMs);
    await pause(probeEveryMs);
  }
  await end;
  return longestMs;
}

/** Sends a body, and charges the server for it and for what it makes of it later, beyond what it takes to answer the probes alone. */
async function cost(server: ServerProcess, one: HostileBody, round: number): Promise<Cost> {
  const bytes = bytesOf(one, round);
  const headers = { 'x-api-key': server.key, 'content-type': 'application/json', ...(one.gzip && { 'content-encoding': 'gzip' }) };
  const idle = await charged(server, async () => {});
  const busy = await charged(server, async () => {
    const answer = await fetch(`${server.url}/ingest`, { method: 'POST', headers, body: new Uint8Array(bytes) });
    if (!answer.ok) throw new Error(`${one.name}: ${answer.status} ${await answer.text()}`);
  });
  return { ...busy, cpuS: busy.cpuS - idle.cpuS };
}

/** CPU of the server during a task and for some seconds afterwards, while it is probed. */
async function charged(server: ServerProcess, task: () => Promise<void>): Promise<Cost> {
  const before = server.cpuS();
  const silenceMs = await probed(server.url, task());
  return { cpuS: server.cpuS() - before, silenceMs };
}

async function run({ pairs }: Asked): Promise<void> {
  const server = await ServerProcess.embedded();
  try {
    for (let round = 0; round < 5; round++) await cost(server, plainBody, round);
    for (const one of hostileBodies) {
      const [ours, plain]: [Cost[], Cost[]] = [[], []];
      // The first round is not charged: the code that it needs is compiled in it.
      for (let round = 0; round <= pairs; round++) {
        const hostile = await cost(server, one, round);
        const usual = await cost(server, plainBody, 100 * (1 + hostileBodies.indexOf(one)) + round);
        if (round > 0) {
          ours.push(hostile);
          plain.push(usual);
        }
      }
      const cpu = ours.map(({ cpuS }) => cpuS);
      const least = 0.01;
      print(`hostile: ${one.name}, ${bytesOf(one, 0).length} bytes as sent, ${pairs} pairs`, {
        'cpu-s': spread(cpu, 3),
        'ratio to a plain body of 10,000 points': spread(
          ratios(
            cpu,
            plain.map(({ cpuS }) => Math.max(least, cpuS)),
          ),
          1,
        ),
        'longest silence of /health, ms': spread(
          ours.map(({ silenceMs }) => silenceMs),
          0,
        ),
        'the same with a plain body, ms': spread(
          plain.map(({ silenceMs }) => silenceMs),
          0,
        ),
        'goal: at most 0.2 cpu-s, 50 ms': median(cpu) <= 0.2 && median(ours.map(({ silenceMs }) => silenceMs)) <= 50 ? 'met' : 'missed',
      });
    }
  } finally {
    await server.remove();
  }
}

export const hostileFigure: Figure = { names: ['hostile'], shape: 'embedded', run };
