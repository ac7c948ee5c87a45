import type { Adapters } from './adapters.js';

type Compare = Adapters['questDb']['compare'];
type Compared = ReturnType<Compare> extends AsyncIterable<infer C> ? C : never;
type Difference = NonNullable<Compared['difference']>;
type Moment = NonNullable<Parameters<Compare>[2]>;

/** What two generations say of one log. */
export interface Comparison {
  readonly series: number;
  /** Raw points and rows of rollups that were compared. */
  readonly rows: number;
  readonly events: number;
  /** Rows that differed at every look, but never twice in the same way: points of them came all the while. */
  readonly changing: number;
  /** Rows of which nothing is said, because records that are not in the log any more may explain them. */
  readonly unverifiable: number;
  /** False where so much differs that the rest was not compared. */
  readonly complete: boolean;
  readonly differences: number;
  /** The first of them. */
  readonly first: readonly Difference[];
}

/** A place that differed when it was last looked at. */
interface Doubt {
  readonly at: Moment;
  readonly difference: Difference;
}

/** Doubts that are held at once, at about half a kilobyte each; and differences after which nothing more is compared. */
const mostHeld = 100_000;
const mostNamed = 100;
const mostLooks = 3;

/**
 * Names what differs between two generations that both go on taking what comes. At one moment each of them is at another place in the log,
 * so a difference counts when it stands still: when it is the same at a second look, before which both have taken all that was in the log
 * after the first one.
 *
 * @param compare visits all places, or those of a moment.
 * @param taken resolves when both generations have taken what is in the log at its call.
 * @param explained whether a difference says nothing about the store.
 */
export async function compareGenerations(
  compare: (at?: Moment) => AsyncIterable<Compared>,
  taken: () => Promise<void>,
  explained: (difference: Difference) => boolean = () => false,
): Promise<Comparison> {
  const visited: Record<Moment['table'], number> = { points: 0, rollup1m: 0, rollup1h: 0, rollup1d: 0, metrics: 0, events: 0 };
  const first: Difference[] = [];
  let [differences, changing, unverifiable, complete] = [0, 0, 0, true];
  let doubts = new Map<string, Doubt>();

  const settle = async (): Promise<void> => {
    for (let look = 2; look <= mostLooks && doubts.size > 0; look++) {
      await taken();
      const { same, other } = await lookAgain(compare, doubts);
      differences += same.length;
      first.push(...same.slice(0, mostNamed - first.length));
      doubts = other;
    }
    changing += doubts.size;
    doubts = new Map();
  };

  for await (const { table, timestampMs, difference } of compare()) {
    visited[table]++;
    if (!difference) continue;
    if (explained(difference)) {
      unverifiable++;
      continue;
    }
    doubts.set(difference.place, { at: { table, timestampMs }, difference });
    if (doubts.size < mostHeld) continue;
    await settle();
    complete = differences < mostHeld;
    if (!complete) break;
  }
  await settle();
  const { metrics: series, events, ...rows } = visited;
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
  const moments = new Map(Array.from(doubts.values(), ({ at }) => [`${at.table} ${at.timestampMs}`, at]));
  for (const at of moments.values()) {
    for await (const { difference } of compare(at)) {
      const before = difference && doubts.get(difference.place)?.difference;
      if (!before) continue;
      if (before.expected === difference.expected && before.found === difference.found) same.push(difference);
      else other.set(difference.place, { at, difference });
    }
  }
  return { same, other };
}
