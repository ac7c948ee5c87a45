import { setTimeout as sleep } from 'node:timers/promises';
import { type Api, ApiFailure, type ApiRequest } from './api.js';
import type { Io } from './io.js';

const patienceMs = 300_000;
const firstPauseMs = 500;
const maxPauseMs = 30_000;
const busyStatuses: readonly number[] = [429, 502, 503, 504];

/**
 * An API whose requests are sent again while the server is busy or away. Until the server has answered once there is only one try, because
 * the address may be wrong.
 */
export class PatientApi {
  #answered = false;

  constructor(
    private readonly api: Api,
    private readonly io: Io,
  ) {}

  /** Whether the server has answered anything yet. */
  get answered(): boolean {
    return this.#answered;
  }

  /** As `Api.request`, but only for requests that may be sent again. An interruption ends the waiting. */
  async request(path: string, request: Omit<ApiRequest, 'signal'> = {}): Promise<unknown> {
    const signal = this.io.interrupted;
    const endMs = performance.now() + patienceMs;
    for (let tries = 0; ; tries++) {
      try {
        const answer = await this.api.request(path, { ...request, signal });
        this.#answered = true;
        return answer;
      } catch (error) {
        const pauseMs = this.#pauseMs(error, tries);
        if (pauseMs === undefined || performance.now() + pauseMs > endMs) throw error;
        this.io.note(`${(error as ApiFailure).message} Trying again in ${Math.ceil(pauseMs / 1000)} s.`);
        await sleep(pauseMs, undefined, { signal });
      }
    }
  }

  /** How long to wait before the next try; undefined when none can help. */
  #pauseMs(error: unknown, tries: number): number | undefined {
    if (!(error instanceof ApiFailure)) return undefined;
    if (error.status !== undefined) this.#answered = true;
    const mayPass = error.status === undefined ? this.#answered : busyStatuses.includes(error.status);
    if (!mayPass) return undefined;
    return error.retryAfterMs ?? Math.min(maxPauseMs, firstPauseMs * 2 ** tries) * (0.5 + Math.random() / 2);
  }
}
