/** A place in one partition of the log, for a reader that has all that stands before it. */
export interface StreamPlace {
  readonly offset: number;
  /** How many points or events of the record at that offset the reader has. */
  readonly index: number;
}

/** Where a reader goes on when it comes back. */
export interface Cursor extends StreamPlace {
  /** Of the log, before that offset. */
  readonly history: string;
  /** The letter of the stream. */
  readonly letter: string;
  readonly partition: number;
  /** Everything that was appended before has been delivered; Unix milliseconds. */
  readonly timeMs: number;
}

const pattern = /^([\w-]{1,64})\.([a-z])(\d{1,4})\.([\da-z]{1,10})\.([\da-z]{1,5})\.([\da-z]{1,10})$/;

/** Letters, digits, points, `_` and `-` only, so that it can stand in a URL, a header and JSON as it is. */
export const cursorText = ({ history, letter, partition, offset, index, timeMs }: Cursor): string =>
  `${history}.${letter}${partition}.${offset.toString(36)}.${index.toString(36)}.${timeMs.toString(36)}`;

/** Undefined for what is no cursor. */
export function parseCursor(text: string): Cursor | undefined {
  const [, history, letter, partition, ...numbers] = pattern.exec(text) ?? [];
  const [offset, index, timeMs] = numbers.map((digits) => Number.parseInt(digits, 36));
  if (history === undefined || letter === undefined) return undefined;
  return { history, letter, partition: Number(partition), offset: offset!, index: index!, timeMs: timeMs! };
}

/** Whether a place is behind another one. */
export const isBehind = (a: StreamPlace, b: StreamPlace): boolean => a.offset > b.offset || (a.offset === b.offset && a.index > b.index);
