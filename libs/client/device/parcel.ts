import type { Batch } from './buffer.js';
import { isEvent } from './point.js';

/** What stands between two points. JSON has no line feed elsewhere. */
export const between = ',\n';

/** Batches that were taken together. They are settled when each part of them is. */
export interface Taken {
  readonly batches: readonly Batch[];
  /** Points that were taken before these. */
  readonly start: number;
  /** Parcels of these batches that are not settled. */
  parcels: number;
}

/** What one request or one frame carries: whole batches, or a part of them where the server has refused the whole. */
export interface Parcel {
  readonly taken: Taken;
  readonly text: string;
  readonly points: number;
  /** It is not sent before, by `monotonicMs`; 0 for one that need not wait. */
  dueMs: number;
  /** The server has refused it on the channel, where it does not say enough about why. */
  isSuspect: boolean;
}

/** Batches that nobody has sent, in one parcel. */
export function parcelOf(batches: readonly Batch[], start: number): Parcel {
  const points = batches.reduce((sum, batch) => sum + batch.points, 0);
  return parcel({ batches, start, parcels: 1 }, batches.map(({ text }) => text).join(between), points, false);
}

/** The points of a parcel, each as the text that was handed over. */
export const textsOf = ({ text }: Parcel): string[] => text.split(between);

/** Parcels that take the place of another one. Without any, that one is settled: so are all its batches when no parcel of them is left. */
export function partsOf({ taken }: Parcel, ...lists: readonly (readonly string[])[]): Parcel[] {
  const parts = lists.filter(({ length }) => length > 0).map((texts) => parcel(taken, texts.join(between), texts.length, true));
  taken.parcels += parts.length - 1;
  return parts;
}

const parcel = (taken: Taken, text: string, points: number, isSuspect: boolean): Parcel => ({
  taken,
  text,
  points,
  dueMs: 0,
  isSuspect,
});

type Halves = readonly [string[], string[]];

/** Points of one group stay together; those of none need not. */
export type GroupOf = (text: string) => string | undefined;

/**
 * Cuts points in two. Equal events stay together, because their order within one body tells them apart. The second part is empty when nothing
 * can be cut.
 */
export function halves(texts: readonly string[], groupOf: GroupOf = eventIn): Halves {
  const cut = (place: number): Halves => {
    const groups = new Set(texts.slice(0, place).map(groupOf));
    groups.delete(undefined);
    return divided(texts, (text, at) => at < place || groups.has(groupOf(text)));
  };
  const inTheMiddle = cut(Math.ceil(texts.length / 2));
  // When everything is of a group that begins before the middle: between the first group and the rest.
  return inTheMiddle[1].length > 0 ? inTheMiddle : cut(1);
}

/** Those that are chosen, and the others. */
export const divided = (texts: readonly string[], isChosen: (text: string, at: number) => boolean): Halves => [
  texts.filter(isChosen),
  texts.filter((text, at) => !isChosen(text, at)),
];

const eventIn: GroupOf = (text) => (isEvent(text) ? text : undefined);
