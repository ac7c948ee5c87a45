import { Injectable } from '@nestjs/common';
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { normalPassword, TelemetryError } from '#model';

/** Digests that are made at the same time: each has a thread for tens of milliseconds, of the four that also read and write files. */
export const maxDigestsAtOnce = 2;
/** Those that wait for their turn; beyond them people are told to try again. */
export const maxDigestsWaiting = 100;

/** What a digest costs, as OWASP recommends it. Another cost holds for new passwords, for a digest says its own. */
interface Cost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}
const cost: Cost = { memory: 19_456, passes: 2, parallelism: 1 };
const saltBytes = 16;
const tagBytes = 32;

const derive = promisify(argon2);
/** Of the PHC string format: `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<tag>`. */
const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([\w+/-]+)\$([\w+/-]+)$/;

/** Digests of passwords, by Argon2id. None is made on the thread that answers requests. */
@Injectable()
export class Passwords {
  #running = 0;
  #spentKib = 0;
  readonly #waiting: (() => void)[] = [];

  /** What all digests have cost so far: the memory that each has written, pass by pass, in KiB. It says who has paid without a look at the time. */
  get spentKib(): number {
    return this.#spentKib;
  }

  /** Rejects `overloaded` when too many wait. */
  async digest(password: string): Promise<string> {
    const salt = randomBytes(saltBytes);
    return format(cost, salt, await this.#derive(password, salt, cost, tagBytes));
  }

  /**
   * Whether this is the password of a digest. An undefined or an empty digest is nobody's, and costs as much as any other: nobody learns
   * from the time whether there is such an account. Rejects `overloaded` when too many wait.
   */
  async verify(digest: string | undefined, password: string): Promise<boolean> {
    const [, memory, passes, parallelism, salt = '', tag = ''] = phc.exec(digest ?? '') ?? [];
    const known = Buffer.from(tag, 'base64');
    const isNobodys = known.length === 0;
    const its = isNobodys ? cost : { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
    const nonce = isNobodys ? randomBytes(saltBytes) : Buffer.from(salt, 'base64');
    const made = await this.#derive(password, nonce, its, isNobodys ? tagBytes : known.length);
    return !isNobodys && timingSafeEqual(made, known);
  }

  async #derive(password: string, nonce: Buffer, { memory, passes, parallelism }: Cost, tagLength: number): Promise<Buffer> {
    await this.#turn();
    try {
      const made = await derive('argon2id', { message: normalPassword(password), nonce, memory, passes, parallelism, tagLength });
      this.#spentKib += memory * passes;
      return made;
    } finally {
      // Whoever is next has the turn of this one.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }

  async #turn(): Promise<void> {
    if (this.#running < maxDigestsAtOnce) {
      this.#running++;
      return;
    }
    if (this.#waiting.length >= maxDigestsWaiting)
      throw new TelemetryError('overloaded', 'Too many people are signing in at this moment: try again.', { retryAfterS: 2 });
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
const format = ({ memory, passes, parallelism }: Cost, salt: Buffer, tag: Buffer): string =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`;
