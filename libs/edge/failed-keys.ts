import { Inject, Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import { networkOf, TelemetryError } from '#model';
import { CLOCK, type Clock } from './clock.js';

const windowMs = 60_000;
const maxKeys = 20;
const maxAddresses = 10_000;

interface Guesses {
  readonly untilMs: number;
  readonly keys: Set<string>;
}

/**
 * Slows down who guesses keys: an address may fail with 20 different keys a minute. A fleet behind one address that goes on with one
 * deleted key is no guesser.
 */
@Injectable()
export class FailedKeys {
  readonly #guesses = new Map<string, Guesses>();

  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  /**
   * Takes note of a key that failed.
   * @param address undefined when the connection has just been reset.
   * @throws TelemetryError `too_many_failed_keys`.
   */
  add(address: string | undefined, key: string): void {
    const nowMs = this.clock();
    const { keys, untilMs } = this.#of(networkOf(address ?? ''), nowMs);
    const digest = hash('sha256', key, 'base64').slice(0, 16);
    if (keys.has(digest)) return;
    if (keys.size < maxKeys) {
      keys.add(digest);
      return;
    }
    const retryAfterS = Math.ceil((untilMs - nowMs) / 1000);
    throw new TelemetryError('too_many_failed_keys', `Send a valid key, or try again in ${retryAfterS} seconds.`, { retryAfterS });
  }

  #of(address: string, nowMs: number): Guesses {
    const known = this.#guesses.get(address);
    if (known && known.untilMs > nowMs) return known;
    this.#guesses.delete(address);
    if (this.#guesses.size >= maxAddresses) this.#guesses.delete(this.#guesses.keys().next().value!);
    const fresh = { untilMs: nowMs + windowMs, keys: new Set<string>() };
    this.#guesses.set(address, fresh);
    return fresh;
  }
}
