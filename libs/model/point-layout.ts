import { field } from './field.js';

const maxFields = 8;
const plainFields = field.metric | field.value | field.timestamp;
/** A bit for all fields that mean nothing. */
const others = 128;

/**
 * What most points of a body repeat, and where it stands in the body: the text before each of their values, that is quotes, colons, commas and the names of
 * fields, and the text of their time.
 */
export class PointLayout {
  /** How many values the point has; 0 where they are too many, or there is no point yet. */
  fields = 0;
  /** The bit of each value's field. */
  readonly keys = new Uint8Array(maxFields);
  readonly starts = new Uint32Array(maxFields);
  readonly ends = new Uint32Array(maxFields);
  /** The time that was read last, and where its text stands. The length is 0 where no time was read. */
  timeMs = 0;
  timeStart = 0;
  timeLength = 0;
  #isTooLong = false;
  /** The bits of the point's fields, together. */
  #seen = 0;

  /** Whether it has metric, value, and nothing else but perhaps a time. */
  get isPlain(): boolean {
    return this.fields > 0 && (this.#seen | field.timestamp) === plainFields;
  }

  /** Begins a body. */
  forget(): void {
    this.restart();
    this.timeLength = 0;
  }

  /** Forgets how the last point was written. */
  restart(): void {
    this.fields = 0;
    this.#isTooLong = false;
    this.#seen = 0;
  }

  /** Adds the next field, whose value begins at `end`. */
  add(key: number, start: number, end: number): void {
    if (this.fields === maxFields) this.#isTooLong = true;
    if (this.#isTooLong) return void (this.fields = 0);
    this.keys[this.fields] = key;
    this.starts[this.fields] = start;
    this.ends[this.fields] = end;
    this.fields++;
    this.#seen |= key || others;
  }
}
