import { Injectable, StreamableFile } from '@nestjs/common';
import { Readable } from 'node:stream';
import type { Held } from './in-flight.js';
import { Slices } from './slices.js';

/** About the size of a piece: making it takes a millisecond, and a client that takes less than one in 30 seconds is cut off. */
export const pieceBytes = 128 * 1024;

const json = 'application/json; charset=utf-8';

/** Long answers, made piece by piece while the client takes them. */
@Injectable()
export class Answers {
  constructor(private readonly slices: Slices) {}

  /**
   * A JSON answer from its pieces, of about `pieceBytes` at most, some of them perhaps empty. A short answer is sent as it is.
   *
   * @param bytes what the rest of the answer is made from, in memory, until the client has taken it.
   * @throws TelemetryError `over_rate` or `overloaded` when too much waits for clients that are slow.
   */
  async of(held: Held, pieces: Iterator<Buffer, Buffer>, bytes = 0): Promise<Buffer | StreamableFile> {
    held.addAnswer(bytes);
    const first = await this.slices.finish(held.orgId, firstPiece(pieces));
    if (first.done && first.value.length <= pieceBytes) return first.value;
    const type = { type: json, ...(first.done && { length: first.value.length }) };
    return new StreamableFile(new Pieces(this.slices, held.orgId, pieces, first), type);
  }
}

/** The beginning of an answer, long enough to be sent. */
function* firstPiece(pieces: Iterator<Buffer, Buffer>): Generator<void, Made> {
  const made: Buffer[] = [];
  for (let length = 0; ;) {
    const { value, done } = pieces.next();
    made.push(value);
    length += value.length;
    if (done || length >= pieceBytes) return { value: made.length === 1 ? value : Buffer.concat(made, length), done };
    yield;
  }
}

interface Made {
  readonly value: Buffer;
  readonly done?: boolean | undefined;
}

class Pieces extends Readable {
  #next: Made | undefined;

  constructor(
    private readonly slices: Slices,
    private readonly orgId: string,
    private readonly pieces: Iterator<Buffer, Buffer>,
    first: Made,
  ) {
    super({ highWaterMark: pieceBytes });
    this.#next = first;
  }

  override _read(): void {
    if (this.#next) this.#push();
    else this.slices.add(this.orgId, () => this.#push());
  }

  #push(): void {
    if (this.destroyed) return;
    try {
      const { value, done } = this.#next ?? this.pieces.next();
      this.#next = undefined;
      // In parts, so that it shows when a slow client takes some of it.
      for (let at = 0; at < value.length; at += pieceBytes) this.push(value.subarray(at, at + pieceBytes));
      if (done) this.push(null);
      else if (value.length === 0) this._read();
    } catch (error) {
      this.destroy(error as Error);
    }
  }
}
