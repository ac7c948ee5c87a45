import { placesIn, type Place } from './html-places.js';

/** Markup that is safe to send, which only `html` makes. */
class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}
export type Html = Markup;
export const isHtml = (value: unknown): value is Html => value instanceof Markup;

/** What may stand in a template. Null, undefined and false leave nothing behind. */
export type Piece = string | number | Html | null | undefined | false | readonly Piece[];

interface Shape {
  readonly strings: readonly string[];
  readonly places: readonly Place[];
}

/** Every template is looked at once. */
const shapes = new WeakMap<TemplateStringsArray, Shape>();

/**
 * HTML or SVG. Every value is escaped as its place asks for, so that it can only be what it is: text, the value of an attribute, or a part
 * of an address on this server. Markup is written as it is only when `html` has made it. An attribute without a value is there or not:
 * `?checked="${isOn}"`.
 *
 * @throws TypeError when a value is where no escaping helps, such as in a script, or when it does not fit its place.
 */
export function html(template: TemplateStringsArray, ...values: readonly (Piece | true)[]): Html {
  let shape = shapes.get(template);
  if (!shape) shapes.set(template, (shape = placesIn(template)));
  const { strings, places } = shape;
  let text = strings[0]!;
  for (let at = 0; at < values.length; at++) text += writtenAt(places[at]!, values[at]) + strings[at + 1]!;
  return new Markup(text);
}

function writtenAt({ kind, name }: Place, value: Piece | true): string {
  if (kind === 'flag') return typeof value === 'boolean' ? (value ? name : '') : refuse(`?${name} is true or false`);
  if (value === true) return refuse('true says nothing as a text');
  if (kind === 'text') return written(value);
  if (typeof value === 'object' && value !== null) return refuse(`the value of ${name} is one text or number`);
  if (kind === 'address part') return encodeURIComponent(String(value ?? '').toWellFormed()).replaceAll("'", '%27');
  if (kind === 'address' && !isOwnAddress(String(value))) return refuse(`${name} is no address on this server: ${String(value)}`);
  return written(value);
}

function written(piece: Piece): string {
  if (typeof piece === 'string') return piece.replaceAll(/[&<>"'\0]/g, (character) => entities[character]!);
  if (typeof piece === 'number') return Number.isFinite(piece) ? String(piece) : refuse(`${piece} is no number to show`);
  if (isHtml(piece)) return piece.toString();
  if (Array.isArray(piece)) return piece.map(written).join('');
  return piece === null || piece === undefined || piece === false ? '' : refuse(`${typeof piece} in place of a text`);
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '\0': '\uFFFD' };

/** Whether an address is on this server, whatever a browser makes of it: a browser drops tabs and line breaks, and reads a backslash as a slash. */
export const isOwnAddress = (text: string): boolean => /^(?:[?#]|\/(?![/\\]))[^\s\\\p{Cc}]*$/u.test(text);

function refuse(why: string): never {
  throw new TypeError(`html: ${why}`);
}
