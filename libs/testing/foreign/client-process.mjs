import { createInterface } from 'node:readline';
import { verbs } from './client-verbs.mjs';

// Does what each line of its input says, and answers in a line. It ends with its input, if nothing of the library keeps it alive.
for await (const line of createInterface({ input: process.stdin })) void obey(JSON.parse(line));

async function obey({ id, verb, argument }) {
  try {
    say({ id, result: await verbs[verb](argument) });
  } catch (error) {
    say({ id, error: String(error?.stack ?? error) });
  }
}

function say(answer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
