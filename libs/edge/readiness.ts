import { Injectable } from '@nestjs/common';

/** A sentence that says what is missing; undefined when nothing is. */
export type Check = () => string | undefined;

/** Whether this process should be sent requests. */
@Injectable()
export class Readiness {
  readonly #checks: Check[] = [];

  add(check: Check): void {
    this.#checks.push(check);
  }

  /** Why not; empty when it should. */
  reasons(): readonly string[] {
    return this.#checks.flatMap((check) => check() ?? []);
  }
}
