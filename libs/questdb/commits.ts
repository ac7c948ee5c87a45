import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { OperatorError, TelemetryError } from '#model';
import type { Patience } from '#stores';
import type { Sql } from './sql.js';

/** What QuestDB must do with rows before it says that it has them: `sync` is to have the disk keep them. */
export type CommitMode = 'sync' | 'any';

const property = 'cairo.commit.mode';
const againMs = 1000;
const modes: ReadonlySet<unknown> = new Set(['sync', 'async', 'nosync']);
const maxAsked = 20;
const maxPauseMs = 50;

/**
 * Whether rows that QuestDB accepts outlive a power cut. Offsets are committed once it has accepted the rows, so what it forgets
 * afterwards would be missing for good. It is asked once, and again while it gives no answer or another than is wanted.
 */
export class Commits {
  #isSafe: boolean;
  #whyNot: string | undefined = 'QuestDB has not been asked yet how it commits.';
  #askedMs = -Infinity;

  constructor(
    private readonly sql: Sql,
    wanted: CommitMode,
  ) {
    this.#isSafe = wanted === 'any';
  }

  /** Why nothing may be written, in words for the operator; undefined when something may. Until then reading this also asks QuestDB again. */
  get whyNot(): string | undefined {
    if (!this.#isSafe && performance.now() - this.#askedMs > againMs) this.check().catch(() => undefined);
    return this.#isSafe ? undefined : this.#whyNot;
  }

  /** Resolves when rows may be written. Rejects `store_unavailable`. */
  async check(): Promise<void> {
    if (this.#isSafe) return;
    this.#askedMs = performance.now();
    try {
      this.#hear(await told(() => this.sql.rows<Parameter>(question)));
    } catch (cause) {
      this.#whyNot = `QuestDB does not say how it commits: ${messageOf(cause)}`;
      throw new TelemetryError('store_unavailable', this.#whyNot, { cause, retryAfterS: 1 });
    }
    if (!this.#isSafe) throw new TelemetryError('store_unavailable', this.#whyNot!, { retryAfterS: 5 });
  }

  /** `check` for an operator's command. Rejects OperatorError, and `store_unavailable` when QuestDB refuses or stays silent for too long. */
  async ensure(patience?: Patience): Promise<void> {
    if (this.#isSafe) return;
    this.#hear(await told(() => this.sql.patientRows<Parameter>(question, [], patience)));
    if (!this.#isSafe) throw new OperatorError(this.#whyNot);
  }

  #hear(rows: readonly Parameter[]): void {
    const mode = rows[0]?.[2] ?? 'unknown';
    this.#isSafe = mode === 'sync';
    this.#whyNot =
      `QuestDB may lose accepted rows in a power cut: its ${property} is ${mode}. Start it with QDB_CAIRO_COMMIT_MODE=sync, or ` +
      `${property}=sync in its server.conf; HEADWATER_QUESTDB_COMMIT=any takes it as it is, and after a power cut \`headwater rebuild\` is yours to run.`;
  }
}

const question = `(SHOW PARAMETERS) WHERE property_path = '${property}'`;
type Parameter = readonly [path: string, variable: string, value: string, ...more: unknown[]];

/**
 * QuestDB reads its parameters with one iterator for everybody who asks. When several ask at once it may answer no row, the value of another
 * parameter, or an error of its Java code. Such an answer says nothing, so the question is asked again, a random moment later.
 */
async function told(ask: () => Promise<readonly Parameter[]>): Promise<readonly Parameter[]> {
  for (let asked = 1; ; asked++) {
    try {
      const rows = await ask();
      if (modes.has(rows[0]?.[2]) || asked === maxAsked) return rows;
    } catch (error) {
      if (asked === maxAsked || !isOfJava(error)) throw error;
    }
    await pause(Math.random() * maxPauseMs);
  }
}

const isOfJava = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof DatabaseError && /class java|internal error|out of bounds/.test(error.cause.message);

function messageOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
