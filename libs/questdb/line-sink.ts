import type { Lease } from '#model';

/** Where lines go. Bodies of one sink are sent one after the other. */
export interface LineSink {
  /**
   * Sends a body as one transaction. Resolves when it is accepted: durable, and visible soon. Rejects `NotAccepted` once nothing will come
   * of this attempt any more. The lease is asked in the tick in which sending begins. Once it is lost, the attempt has as long as the lease lets it
   * go on, and is ended then.
   */
  send(body: Uint8Array, lease: Lease): Promise<void>;
}

/** A body that was not acknowledged: for want of something, unless it is `Refused`. */
export class NotAccepted extends Error {
  override readonly name = 'NotAccepted';

  /** @param outcome `none` when nothing of it is stored, `unknown` when all of it may be. */
  constructor(
    readonly outcome: 'none' | 'unknown',
    why: string,
    options?: ErrorOptions,
  ) {
    super(why, options);
  }
}

/** A body that QuestDB will never take, because of one of its rows. Nothing of it is stored. */
export class Refused extends NotAccepted {
  /** @param row of the body, counted from 0; undefined when it is not told. */
  constructor(
    readonly row: number | undefined,
    why: string,
    options?: ErrorOptions,
  ) {
    super('none', why, options);
  }
}
