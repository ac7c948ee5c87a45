import type { Compared, Difference, Moment, RowKind } from '#stores';

/** What two generations say of one log. */
export interface Comparison {
  readonly series: number;
  /** Raw points and rows of rollups that were compared. */
  readonly rows: number;
  readonly events: number;
  /** Rows that differed at every look, but never twice in the same way, because points of them kept coming. */
  readonly changing: number;
  /** Rows that cannot be judged: records that are no longer in the log may explain the difference. */
  readonly unverifiable: number;
  /** False where so much differs that the rest was not compared. */
  readonly complete: boolean;
  readonly differences: number;
  /** The first of them. */
  readonly first: readonly Difference[];
}

/** Something that differed when it was last looked at. */
interface Doubt {
  readonly at: Moment;
  readonly difference: Difference;
}

/** Doubts that are held at once, at about half a kilobyte each; and differences after which nothing more is compared. */
const maxHeld = 100_000;
const maxNamed = 100;
const maxLooks = 3;

/**
 * Names what differs between two generations that both go on processing new records. At any moment the two are at different places in the
 * log. So a difference counts only when it persists: when it is the same at a second look, before which both generations have processed all
 * that was in the log after the first look.
 *
 * @param compare visits everything, or what is of a moment.
 * @param taken resolves when both generations have taken what is in the log at its call.
 * @param explained whether deleted records may explain a difference.
 */
export async function compareGenerations(
  compare: (at?: Moment) => AsyncIterable<Compared>,
  taken: () => Promise<void>,
  explained: (difference: Difference) => boolean = () => false,
): Promise<Comparison> {
  const visited: Record<RowKind, number> = { raw: 0, '1m': 0, '1h': 0, '1d': 0, 'metric names': 0, events: 0 };
  const first: Difference[] = [];
  let [differences, changing, unverifiable, complete] = [0, 0, 0, true];
  let doubts = new Map<string, Doubt>();

  const settle = async (): Promise<void> => {
    for (let look = 2; look <= maxLooks && doubts.size > 0; look++) {
      await taken();
      const { same, other } = await lookAgain(compare, doubts);
      differences += same.length;
      first.push(...same.slice(0, maxNamed - first.length));
      doubts = other;
    }
    changing += doubts.size;
    doubts = new Map();
  };

  for await (const { what, timestampMs, difference } of compare()) {
    visited[what]++;
    if (!difference) continue;
    if (explained(difference)) {
      unverifiable++;
      continue;
    }
    doubts.set(difference.key, { at: { what, timestampMs }, difference });
    if (doubts.size < maxHeld) continue;
    await settle();
    complete = differences < maxHeld;
    if (!complete) break;
  }
  await settle();
  const { 'metric names': series, events, ...rows } = visited;
  const compared = Object.values(rows).reduce((sum, count) => sum + count, 0);
  return { series, rows: compared, events, changing, unverifiable, complete, differences, first };
}

/** What still differs in the same way, and what does in another one. */
async function lookAgain(
  compare: (at: Moment) => AsyncIterable<Compared>,
  doubts: ReadonlyMap<string, Doubt>,
): Promise<{ readonly same: readonly Difference[]; readonly other: Map<string, Doubt> }> {
  const same: Difference[] = [];
  const other = new Map<string, Doubt>();
  const moments = new Map(Array.from(doubts.values(), ({ at }) => [`${at.what} ${at.timestampMs}`, at]));
  for (const at of moments.values()) {
    for await (const { difference } of compare(at)) {
      const before = difference && doubts.get(difference.key)?.difference;
      if (!before) continue;
      if (before.expected === difference.expected && before.found === difference.found) same.push(difference);
      else other.set(difference.key, { at, difference });
    }
  }
  return { same, other };
}
