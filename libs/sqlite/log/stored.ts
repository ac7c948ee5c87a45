/** A record as it lies in the log. */
export interface Stored {
  readonly offset: number;
  readonly ms: number;
  readonly frame: Uint8Array;
}

/** Records of the log that a reader wants, in offset order. */
export interface ReadAnswer {
  readonly records: readonly Stored[];
  /** Where to read on; the head when there is no more. */
  readonly next: number;
}
