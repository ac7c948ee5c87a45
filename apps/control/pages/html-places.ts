/** Where a value of a template stands, which says how it is written. */
export interface Place {
  /**
   * An `address` is all of one; of an `address part` the template has the beginning, and the value is a segment, a parameter or some of it. A
   * `flag` is an attribute that is there or not.
   */
  readonly kind: 'text' | 'attribute' | 'address' | 'address part' | 'flag';
  /** Of the attribute; empty for text. */
  readonly name: string;
}

interface Places {
  /** The texts between the values; those around a flag without its name and quotes. */
  readonly strings: readonly string[];
  readonly places: readonly Place[];
}

const name = String.raw`\??[a-zA-Z][\w:-]*`;
/** Templates keep to one way of writing, so that where a value stands is never a matter of how a browser reads broken markup. */
const piece = new RegExp(String.raw`[^<>]+|<!doctype html>|<(/?)(${name})((?:\s+${name}(?:="[^"]*")?)*)\s*/?>`, 'y');
const openTag = new RegExp(String.raw`^<([a-zA-Z][\w-]*)(?:\s+${name}(?:="[^"]*")?)*\s+(${name})="([^"]*)$`);

/** Nothing that is written into these is safe by escaping. */
const code: ReadonlySet<string> = new Set(['script', 'style']);
const dangerous = /^(?:on.*|style|srcdoc|srcset|ping|data|content|http-equiv)$/i;
const address = /^(?:href|src|action|formaction|poster|xlink:href)$/i;

const text: Place = { kind: 'text', name: '' };

/** @throws TypeError when a value is where no escaping helps, and for markup that is not written the one way. */
export function placesIn(template: readonly string[]): Places {
  const strings = [...template];
  const places: Place[] = [];
  for (let at = 0, before = ''; at < strings.length; at++) {
    before += template[at]!;
    const rest = afterPieces(before);
    if (at === strings.length - 1) {
      if (rest !== '') refuse(rest);
      break;
    }
    const place = rest === '' ? text : placeOf(rest);
    places.push(place);
    // What the value will be does not matter to what follows it.
    before += 'x';
    if (place.kind !== 'flag') continue;
    strings[at] = strings[at]!.slice(0, -`?${place.name}="`.length);
    if (!strings[at + 1]!.startsWith('"')) refuse(rest);
    strings[at + 1] = strings[at + 1]!.slice(1);
  }
  return { strings, places };
}

/** What follows the last piece that is whole: nothing, or a tag that is still open. */
function afterPieces(markup: string): string {
  let end = 0;
  let isCode = false;
  for (piece.lastIndex = 0; ; end = piece.lastIndex) {
    const [whole, slash, tag] = piece.exec(markup) ?? [];
    if (whole === undefined) break;
    if (isCode && !slash) refuse(whole);
    isCode = tag !== undefined && !slash && code.has(tag.toLowerCase());
  }
  if (isCode) refuse(markup.slice(end - 20));
  return markup.slice(end);
}

function placeOf(tag: string): Place {
  const [, , attribute = '', beginning = ''] = openTag.exec(tag) ?? refuse(tag);
  if (dangerous.test(attribute)) refuse(tag);
  if (attribute.startsWith('?')) return { kind: 'flag', name: attribute.slice(1) };
  if (!address.test(attribute)) return { kind: 'attribute', name: attribute };
  if (beginning === '') return { kind: 'address', name: attribute };
  // A value right behind the first slash could make the rest the name of a host.
  return /^(?:[?#]|\/[^/\\])/.test(beginning) ? { kind: 'address part', name: attribute } : refuse(tag);
}

function refuse(where: string): never {
  throw new TypeError(`html: write this another way, or without a value here: ${where.slice(0, 80)}`);
}
