import { TelemetryError, type Flaw } from './errors.js';

/** Everything that can be wrong with a point, as a sentence that says what to change. A code never changes its meaning. */
export const flawCases = {
  point_not_object: 'Send each point as an object.',
  missing_source_id: 'Give the body or this point a source_id.',
  invalid_source_id: 'Use 1 to 256 of A-Z a-z 0-9 . _ : @ + - and begin with a letter or digit.',
  missing_metric: 'Give the point a metric name.',
  invalid_metric: 'Use a string of 1 to 256 bytes of UTF-8 without NUL or lone surrogates.',
  unknown_class: 'Leave class out for a numeric point, or send "metric" or "event".',
  missing_value: 'Give the point a value.',
  invalid_value: 'Send a finite JSON number, or class "event" for anything else.',
  event_value_too_large: 'Send at most 4,096 bytes: a string as its UTF-8, anything else as its JSON without blanks.',
  invalid_timestamp: 'Send Unix milliseconds as a finite JSON number, or leave the timestamp out.',
  timestamp_out_of_range: 'Send Unix milliseconds of a time before the year 10000.',
  invalid_tags: 'Send tags as a flat object of strings.',
  too_many_tags: 'Send at most 16 tags.',
  tag_too_long: 'Keep the keys and the values of tags at 256 bytes of UTF-8 or less.',
} as const satisfies Record<string, string>;
export type FlawCode = keyof typeof flawCases;

const reported = 20;

/** Collects what is wrong with a body, up to what one answer reports. */
export class Flaws {
  readonly #list: Flaw[] = [];

  get any(): boolean {
    return this.#list.length > 0;
  }

  /** True when more would not be reported. */
  get full(): boolean {
    return this.#list.length >= reported;
  }

  /** @param path keys and positions from the body to what is wrong. */
  add(code: FlawCode, ...path: readonly (string | number)[]): void {
    if (!this.full) this.#list.push({ pointer: jsonPointer(path), code, detail: flawCases[code] });
  }

  toError(): TelemetryError {
    const [first] = this.#list;
    return new TelemetryError('invalid_points', `${first?.pointer}: ${first?.detail}`, { flaws: this.#list });
  }
}

/** RFC 6901. */
function jsonPointer(path: readonly (string | number)[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
