import { createInterface, type Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { exitCodes, Failure } from './failure.js';

/** Asks on the terminal; without one, and for an empty answer, it is the default. */
export async function ask(question: string, fallback: string): Promise<string> {
  if (!process.stdin.isTTY) return fallback;
  const answer = await answerTo(`${question} [${fallback}]: `, createInterface({ input: process.stdin, output: process.stderr }));
  return answer || fallback;
}

/** Asks on the terminal without showing what is typed. */
export async function askSecret(question: string): Promise<string> {
  process.stderr.write(`${question}: `);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const answer = await answerTo('', createInterface({ input: process.stdin, output: nowhere, terminal: true }));
  process.stderr.write('\n');
  return answer;
}

export async function firstLineOfInput(): Promise<string> {
  for await (const line of createInterface({ input: process.stdin })) return line;
  return '';
}

async function answerTo(prompt: string, lines: Interface): Promise<string> {
  const gone = new Promise<never>((_, reject) => {
    lines.on('close', () => reject(new Failure('Interrupted: nothing was written.', exitCodes.interrupted)));
  });
  try {
    return (await Promise.race([lines.question(prompt), gone])).trim();
  } catch (error) {
    process.stderr.write('\n');
    throw error;
  } finally {
    lines.close();
  }
}
