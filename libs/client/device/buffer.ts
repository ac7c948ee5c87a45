export interface Size {
  readonly points: number;
  /** Of the points in UTF-8. */
  readonly bytes: number;
}

/** Points that were cut off together. They are sent together for ever: what tells equal events apart is their order within one body. */
export interface Batch extends Size {
  /** The points in JSON, with a comma and a line feed between them. */
  readonly text: string;
}

export interface BufferLimits {
  readonly maxBytes: number;
  /** What happens to batches for which there is no room: `drop-oldest` makes room, and `reject` has nobody add any. */
  readonly full: 'drop-oldest' | 'reject';
}

/** What a buffer tells its owner. Neither may throw. */
export interface BufferListener {
  /** Points that will not be sent, because newer ones needed their room or because the disk has damaged them. */
  dropped(points: number, reason: 'full' | 'damaged'): void;
  /** The disk does not do what it should. The buffer goes on in memory. */
  failed(error: unknown): void;
}

/** Keeps batches in their order until they are settled. */
export interface Buffer {
  /** Resolves when it is known what earlier runs have left. Never rejects. */
  readonly opened: Promise<void>;
  /** What is not settled. */
  readonly all: Size;
  /** The batches that nobody has taken. */
  readonly untaken: Size;

  /** Whether a batch of so many bytes fits without dropping any. */
  hasRoom(bytes: number): boolean;
  /** Takes a batch in at the end. */
  add(batch: Batch): void;
  /** The oldest batches that nobody has taken, together within the limits but at least one; none when there are none. */
  take(maxPoints: number, maxBytes: number): Promise<Batch[]>;
  /** The server has them, or will never take them: they may be forgotten. A batch that was taken and never settled is found again after a restart. */
  settle(batches: readonly Batch[]): void;
  /** Resolves when what was added survives a crash, or when trying to make it so has failed. Absent where nothing survives. */
  saved?(): Promise<void>;
  /** Leaves what is not settled to the next one who opens the buffer. */
  close(): Promise<void>;
}
