import { setTimeout as pause } from 'node:timers/promises';
import type { ApiClient, ProblemJson } from '../http/client.js';
import type { Answer } from '../http/send.js';

/** What is asked all the time, and which role answers. */
const questions = {
  query: ['/v1/sources', '/v1/fleet/metrics?metric=m1&last=10m', '/v1/sources/nobody/metrics/latest'],
  control: ['/api/api-keys'],
} as const;

export type WatchedRole = keyof typeof questions;

/** What became of the questions to one role. */
export interface Watched {
  asked: number;
  /** Those that were refused with 503 and Retry-After, by code. */
  readonly refused: Record<string, number>;
  longestMs: number;
  /** Anything else, in words. */
  readonly wrong: string[];
}

const everyMs = 200;

/** Asks the roles that answer questions from its start to its end, one question of each role at a time. */
export class Watch {
  readonly #seen: Readonly<Record<WatchedRole, Watched>>;
  readonly #stopping = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(private readonly client: ApiClient) {
    const nothing = (): Watched => ({ asked: 0, refused: {}, longestMs: 0, wrong: [] });
    this.#seen = { query: nothing(), control: nothing() };
    this.#running = Promise.all((Object.keys(questions) as WatchedRole[]).map((role) => this.#ask(role)));
  }

  /** Resolves when the last question is answered. */
  async stop(): Promise<Readonly<Record<WatchedRole, Watched>>> {
    this.#stopping.abort();
    await this.#running;
    return this.#seen;
  }

  async #ask(role: WatchedRole): Promise<void> {
    const seen = this.#seen[role];
    while (!this.#stopping.signal.aborted) {
      for (const path of questions[role]) {
        const beganMs = performance.now();
        const answer = await this.client.ask({ path }).catch((error: Error) => error);
        seen.asked++;
        seen.longestMs = Math.max(seen.longestMs, performance.now() - beganMs);
        note(seen, path, answer);
      }
      await pause(everyMs);
    }
  }
}

function note(seen: Watched, path: string, answer: Answer | Error): void {
  if (answer instanceof Error) seen.wrong.push(`${path}: ${answer.message}`);
  else if (answer.status === 503 && answer.headers['retry-after']) {
    const { code } = JSON.parse(answer.text) as ProblemJson;
    seen.refused[code] = (seen.refused[code] ?? 0) + 1;
  } else if (answer.status !== 200) seen.wrong.push(`${path}: ${answer.status} ${answer.text}`);
}
