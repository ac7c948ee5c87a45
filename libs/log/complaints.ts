import { causes } from '#model';

/** A failure that lasts is told again after so long; with another cause, after a shorter time. */
const againMs = { sameCause: 600_000, otherCause: 60_000 };

/** What fails for one cause. */
interface Trouble {
  readonly cause: string;
  readonly sinceMs: number;
  failures: number;
  /** When something was told last, and with which cause. */
  told: { readonly cause: string; readonly atMs: number } | undefined;
}

/** @param error undefined when what is told is that something works again. */
export type Tell = (message: string, error?: unknown) => void;

/**
 * Tells of work that fails again and again: at its first failure with the cause, and when it works again. What fails for the same cause
 * meanwhile, such as the batches of other partitions while a database is away, is counted and not told by itself.
 */
export class Complaints {
  readonly #troubles = new Map<string, Trouble>();

  constructor(private readonly tell: Tell) {}

  /**
   * @param what fails, in the same words at each attempt.
   * @param where this attempt has failed, such as ` at offset 5`.
   */
  failed(what: string, error: unknown, where = ''): void {
    const nowMs = performance.now();
    const cause = causes(error);
    const trouble = this.#troubleOf(what, cause, nowMs);
    this.#troubles.set(what, trouble);
    trouble.failures++;
    const { told } = trouble;
    if (told && nowMs - told.atMs < (told.cause === cause ? againMs.sameCause : againMs.otherCause)) return;
    trouble.told = { cause, atMs: nowMs };
    const before = trouble.failures > 1 ? `, the last of ${times(trouble, nowMs)}` : '';
    this.tell(`${what} failed${where}: ${cause}${before}`, error);
  }

  /** @param what as it was when it failed. */
  worked(what: string): void {
    const trouble = this.#troubles.get(what);
    if (!trouble) return;
    this.#troubles.delete(what);
    if ([...this.#troubles.values()].includes(trouble)) return;
    this.tell(`${what} works again, after ${times(trouble, performance.now())}`);
  }

  /** Of what is given to somebody else nobody hears here whether it works again. */
  forget(): void {
    this.#troubles.clear();
  }

  /** That of the same cause, else a new one that goes on with what was told of this work. */
  #troubleOf(what: string, cause: string, nowMs: number): Trouble {
    const before = this.#troubles.get(what);
    if (before?.cause === cause) return before;
    const same = [...this.#troubles.values()].find((trouble) => trouble.cause === cause);
    return same ?? { sinceMs: nowMs, failures: 0, told: undefined, ...before, cause };
  }
}

const times = ({ failures, sinceMs }: Trouble, nowMs: number): string =>
  `${failures} failure${failures === 1 ? '' : 's'} in ${Math.round((nowMs - sinceMs) / 1000)} s`;
