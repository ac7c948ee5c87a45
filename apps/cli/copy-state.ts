import { open, readFile, rename, rm } from 'node:fs/promises';
import { z } from 'zod';
import { Failure } from './failure.js';

const ms = z.int().nonnegative();
const count = ms;

const stateSchema = z.strictObject({
  format: z.literal(1),
  /** From where to where, and which sources: a copy goes on only as the one that it was begun as. */
  from: z.string(),
  to: z.string(),
  sources: z.array(z.string()).readonly(),
  start_ms: ms,
  end_ms: ms,
  /** All sources up to this one are done. */
  after: z.string(),
  /** Until when the target has the points and events of the sources behind that one. */
  until_ms: z.record(z.string(), z.object({ points: ms.optional(), events: ms.optional() })),
  /** What was sent, and of how many sources. */
  points: count,
  events: count,
  copied: count,
  /** Differences between target and origin: the first of them as sentences, and how many there are in all. */
  flaws: z.array(z.string()),
  flawed: count,
});

/** How far a copy is. */
export type CopyState = z.output<typeof stateSchema>;

export const newCopy = (way: Pick<CopyState, 'from' | 'to' | 'sources' | 'start_ms' | 'end_ms'>): CopyState => ({
  format: 1,
  ...way,
  after: '',
  until_ms: {},
  points: 0,
  events: 0,
  copied: 0,
  flaws: [],
  flawed: 0,
});

/** A file that says how far a copy is; whoever reads it finds it whole. */
export class StateFile {
  #saving = Promise.resolve();

  constructor(readonly path: string) {}

  /** Undefined when there is none. Rejects `Failure`. */
  async read(): Promise<CopyState | undefined> {
    try {
      return stateSchema.parse(JSON.parse(await readFile(this.path, 'utf8')));
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      const again = 'delete it, and the copy begins anew, or name another with --state.';
      throw new Failure(`${this.path} does not say how far a copy is: ${again}`, undefined, { cause });
    }
  }

  /** Resolves when the state survives a crash. Rejects `Failure`. */
  save(state: CopyState): Promise<void> {
    const saved = this.#saving.then(() => this.#replace(JSON.stringify(state)));
    this.#saving = saved.catch(() => undefined);
    return saved;
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
  }

  async #replace(text: string): Promise<void> {
    const fresh = `${this.path}.${process.pid}`;
    try {
      await using file = await open(fresh, 'w');
      await file.writeFile(text);
      await file.sync();
      await rename(fresh, this.path);
    } catch (cause) {
      await rm(fresh, { force: true }).catch(() => undefined);
      const { code } = cause as NodeJS.ErrnoException;
      throw new Failure(`${this.path} cannot be written (${code}): mend that, or name another place with --state.`, undefined, { cause });
    }
  }
}
