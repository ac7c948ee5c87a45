import { textFrame } from '#edge';
import type { StreamRecord } from '#log';
import { isBehind, type StreamPlace } from './cursor.js';
import type { Filter, StreamKind } from './stream-kind.js';

/** Length of a frame, about: a slow reader is noticed between two of them. */
const maxLength = 64 * 1024;

/** Writes the cursor of a place. */
export type Mark = (place: StreamPlace, timeMs: number) => string;

/** A message, made once in each form that readers want. */
export class Frame {
  #plain: Buffer | undefined;
  #marked: Buffer | undefined;
  #event: Buffer | undefined;

  /** @param json without its closing brace. @param cursor behind the message. */
  constructor(
    private readonly json: string,
    private readonly cursor: () => string,
  ) {}

  /** As a frame of a WebSocket. */
  get plain(): Buffer {
    return (this.#plain ??= textFrame(`${this.json}}`));
  }

  /** The same with the cursor. */
  get marked(): Buffer {
    return (this.#marked ??= textFrame(`${this.json},"cursor":"${this.cursor()}"}`));
  }

  /** As an event of `text/event-stream`. */
  get event(): Buffer {
    return (this.#event ??= Buffer.from(`id: ${this.cursor()}\ndata: ${this.json}}\n\n`));
  }
}

/** Some records of one source that follow each other in the log, as frames. Those are made for the first reader that wants them, and kept for those behind it that want the same. */
export class Batch {
  /** Of the filter that was asked for last: each takes memory, and readers of one filter come one after the other. */
  #frames: { readonly of: string; readonly all: readonly Frame[] } | undefined;
  #newest: { readonly of: string; readonly all: ReadonlyMap<string, string> } | undefined;

  /** @param start what is before it is left out. */
  constructor(
    private readonly kind: StreamKind,
    private readonly records: readonly StreamRecord[],
    private readonly mark: Mark,
    readonly start: StreamPlace = { offset: records[0]!.offset, index: 0 },
  ) {}

  /** Behind all of it. */
  get end(): StreamPlace {
    return { offset: this.records.at(-1)!.offset + 1, index: 0 };
  }

  /** When the last of it was appended, Unix milliseconds. */
  get timeMs(): number {
    return this.records.at(-1)!.appendedMs;
  }

  /** What of it is behind a place; undefined for nothing. */
  behind(place: StreamPlace): Batch | undefined {
    if (!isBehind(place, this.start)) return this;
    const rest = this.records.filter(({ offset }) => offset >= place.offset);
    if (rest.length === 0) return undefined;
    return new Batch(this.kind, rest, this.mark, rest[0]!.offset === place.offset ? place : undefined);
  }

  frames(filter: Filter): readonly Frame[] {
    if (this.#frames?.of !== filter.key) this.#frames = { of: filter.key, all: this.#make(filter) };
    return this.#frames.all;
  }

  /** The last entry of each metric. */
  newest(filter: Filter): ReadonlyMap<string, string> {
    if (this.#newest?.of === filter.key) return this.#newest.all;
    const all = new Map<string, string>();
    this.#each(filter, (json, _index, _record, metric) => all.set(metric, json));
    this.#newest = { of: filter.key, all };
    return all;
  }

  #make(filter: Filter): readonly Frame[] {
    const { kind, mark } = this;
    const frames: Frame[] = [];
    let entries = '';
    let [offset, index, timeMs] = [0, 0, 0];
    const finish = (): void => {
      const place = { offset, index };
      const appendedMs = timeMs;
      frames.push(new Frame(kind.message(entries), () => mark(place, appendedMs)));
      entries = '';
    };
    this.#each(filter, (json, at, record) => {
      if (entries !== '' && (!kind.isMerged || entries.length + json.length > maxLength)) finish();
      entries = entries === '' ? json : `${entries},${json}`;
      ({ offset, appendedMs: timeMs } = record);
      index = at + 1;
    });
    if (entries !== '') finish();
    return frames;
  }

  #each(filter: Filter, add: (json: string, index: number, record: StreamRecord, metric: string) => void): void {
    const { start, kind } = this;
    for (const record of this.records) {
      const from = record.offset === start.offset ? start.index : 0;
      kind.each(record, from, filter, (json, index, metric) => add(json, index, record, metric));
    }
  }
}
