import { bucketStartMs } from '#model';
import { Lines } from './lines.js';

/** A commit that touches more partitions keeps the others waiting for too long. */
const mostPartitions = 50;

/** Rows of one organization in one partition. */
export interface LatePart {
  readonly lines: Lines;
}

/**
 * Late rows wait apart, because each partition that they touch is written anew. Rows of one key stay in order: they are of one
 * organization and partition.
 */
export class LateRows {
  /** Counts how often it became empty. */
  round = 0;
  readonly #organizations = new Map<string, Map<number, LatePart>>();

  /** @param partitionMs time of one partition. */
  constructor(private readonly partitionMs: number) {}

  get empty(): boolean {
    return this.#organizations.size === 0;
  }

  /** Where a row of this time goes. */
  lines(org: string, timestampMs: number): Lines {
    const partition = bucketStartMs(timestampMs, this.partitionMs);
    let parts = this.#organizations.get(org);
    if (!parts) this.#organizations.set(org, (parts = new Map()));
    let late = parts.get(partition);
    if (!late) parts.set(partition, (late = { lines: new Lines(256) }));
    return late.lines;
  }

  /** All that waits. */
  parts(): Set<LatePart> {
    return new Set(this.#organizations.values().flatMap((parts) => parts.values()));
  }

  /** Takes the rows of a bounded number of partitions, organizations in turn. */
  take(): LatePart[] {
    const taken: LatePart[] = [];
    const different = new Set<number>();
    for (let before = -1; before < taken.length;) {
      before = taken.length;
      // Those of this round: one that has more comes to the end again.
      const organizations = Array.from(this.#organizations);
      for (const [org, parts] of organizations) {
        const [partition, late] = parts.entries().next().value!;
        if (!different.has(partition) && different.size === mostPartitions) continue;
        different.add(partition);
        taken.push(late);
        parts.delete(partition);
        this.#organizations.delete(org);
        if (parts.size > 0) this.#organizations.set(org, parts);
      }
    }
    if (this.empty) this.round++;
    return taken;
  }
}
