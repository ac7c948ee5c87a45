import { Injectable } from '@nestjs/common';
import { TelemetryError } from '#model';

/** A sentence that says what is missing; undefined when nothing is. */
export type Check = () => string | undefined;

/** Whether this process should be sent requests. */
@Injectable()
export class Readiness {
  readonly #checks: Check[] = [];
  readonly #warners: (() => readonly string[])[] = [];
  readonly #needed: Promise<unknown>[] = [];
  #missing = 0;

  add(check: Check): void {
    this.#checks.push(check);
  }

  /** Adds what an operator should know although requests may be sent. */
  addWarnings(warn: () => readonly string[]): void {
    this.#warners.push(warn);
  }

  warnings(): readonly string[] {
    return this.#warners.flatMap((warn) => warn());
  }

  /** No request that needs a key is let in before this has resolved. */
  need(needed: Promise<unknown>): void {
    this.#needed.push(needed);
    this.#missing++;
    needed.then(
      () => this.#missing--,
      () => undefined,
    );
  }

  /** Whether all that is needed is there. */
  get isOpen(): boolean {
    return this.#missing === 0;
  }

  /** @throws TelemetryError `not_ready` while not all is known that was in the log at the start. */
  check(detail = 'The server has just started: it is still reading what it must know.'): void {
    if (!this.isOpen) throw new TelemetryError('not_ready', detail);
  }

  /** Resolves when all is there that was needed at the call. Rejects when some of it never will be. */
  async opened(): Promise<void> {
    await Promise.all(this.#needed);
  }

  /** Why not; empty when it should. */
  reasons(): readonly string[] {
    const reasons = this.#checks.flatMap((check) => check() ?? []);
    return this.isOpen ? reasons : [...reasons, 'What was in the log at the start has not been read yet.'];
  }
}
