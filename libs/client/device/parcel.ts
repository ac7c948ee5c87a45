import type { Batch } from './buffer.js';

/** Batches that were taken together. They are settled when each part of them is. */
export class Taken {
  #parts = 1;

  /** @param start points that were taken before these. */
  constructor(
    readonly batches: readonly Batch[],
    readonly start: number,
    private readonly settled: (taken: Taken) => void,
  ) {}

  add(parts: number): void {
    this.#parts += parts;
  }

  settle(): void {
    if (--this.#parts === 0) this.settled(this);
  }
}

/** What one request or one frame carries: whole batches, or a part of them where the server has refused the whole. */
export class Parcel {
  /** Failed tries of this very parcel. */
  tries = 0;
  /** It is not sent before, on the clock of `performance`. */
  dueMs = 0;
  /** The server has refused it on the channel, where it does not say enough about why. */
  isSuspect = false;

  constructor(
    readonly taken: Taken,
    readonly text: string,
    readonly points: number,
  ) {}

  static of(taken: Taken): Parcel {
    const { batches } = taken;
    return new Parcel(
      taken,
      batches.map(({ text }) => text).join(','),
      batches.reduce((sum, { points }) => sum + points, 0),
    );
  }

  /** Its points, each as the text that was handed over. */
  texts(): string[] {
    return (JSON.parse(`[${this.text}]`) as unknown[]).map((point) => JSON.stringify(point));
  }

  /** This parcel in other parts, which take its place. */
  parts(...texts: readonly (readonly string[])[]): Parcel[] {
    const parts = texts.filter(({ length }) => length > 0);
    this.taken.add(parts.length - 1);
    return parts.map((points) => {
      const part = new Parcel(this.taken, points.join(','), points.length);
      part.isSuspect = true;
      return part;
    });
  }
}

/**
 * Cuts points in two. Equal events stay together, because their order within one body tells them apart. The second part is empty when nothing
 * can be cut.
 *
 * @param groupOf points of one group stay together; those of none need not.
 */
export function halves(texts: readonly string[], groupOf: (text: string) => string | undefined = eventIn): [string[], string[]] {
  const middle = Math.ceil(texts.length / 2);
  const [one, other] = split(texts, new Set(texts.slice(0, middle).map(groupOf)), (at) => at < middle, groupOf);
  if (other.length > 0) return [one, other];
  // Everything is of a group that begins before the middle: cut between the first group and the rest.
  return split(texts, new Set([groupOf(texts[0]!)]), (at) => at === 0, groupOf);
}

function split(
  texts: readonly string[],
  groups: ReadonlySet<string | undefined>,
  isFirst: (at: number) => boolean,
  groupOf: (text: string) => string | undefined,
): [string[], string[]] {
  const [one, other]: [string[], string[]] = [[], []];
  for (const [at, text] of texts.entries()) {
    const group = groupOf(text);
    (isFirst(at) || (group !== undefined && groups.has(group)) ? one : other).push(text);
  }
  return [one, other];
}

const eventIn = (text: string): string | undefined => (text.startsWith('{"class"') ? text : undefined);
