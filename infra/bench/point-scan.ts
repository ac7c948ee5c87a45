const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const zero = 0x30;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** Of the body's array: the bodies of the bench have one, that of their points. */
const arrayDepth = 1;

let points = 0;

/**
 * Points of an ingest body. It is passed once, byte by byte, to find where its strings and numbers end, and nothing is made of them: with less no
 * server knows where the fields of points are, and that the body is JSON.
 *
 * @throws Error when the body is not JSON. What stands behind a backslash in a string is not checked.
 */
export function countPoints(body: Uint8Array): number {
  points = 0;
  const end = blanksEnd(body, valueEnd(body, blanksEnd(body, 0), 0));
  if (end !== body.length) throw notJson(end);
  return points;
}

const notJson = (at: number): Error => new Error(`the body is not JSON at byte ${at}`);

function valueEnd(body: Uint8Array, at: number, depth: number): number {
  const byte = body[at]!;
  if (byte === quote) return stringEnd(body, at);
  if (byte === openBrace) return itemsEnd(body, at, depth, closeBrace);
  if (byte === openBracket) return itemsEnd(body, at, depth, closeBracket);
  return byte > 0x60 ? literalEnd(body, at) : numberEnd(body, at);
}

function itemsEnd(body: Uint8Array, start: number, depth: number, close: number): number {
  let at = blanksEnd(body, start + 1);
  if (body[at] === close) return at + 1;
  for (;;) {
    if (close === closeBrace) at = keyEnd(body, at);
    else if (depth === arrayDepth) points++;
    at = blanksEnd(body, valueEnd(body, at, depth + 1));
    if (body[at] === close) return at + 1;
    if (body[at] !== comma) throw notJson(at);
    at = blanksEnd(body, at + 1);
  }
}

/** Behind the colon and the blanks that follow it. */
function keyEnd(body: Uint8Array, start: number): number {
  const at = blanksEnd(body, stringEnd(body, start));
  if (body[at] !== colon) throw notJson(at);
  return blanksEnd(body, at + 1);
}

function stringEnd(body: Uint8Array, start: number): number {
  if (body[start] !== quote) throw notJson(start);
  let at = start + 1;
  for (let byte = body[at]!; byte !== quote; byte = body[++at]!) {
    if (!(byte >= 0x20)) throw notJson(at);
    if (byte === backslash) at++;
  }
  return at + 1;
}

function numberEnd(body: Uint8Array, start: number): number {
  let at = body[start] === minus ? start + 1 : start;
  at = body[at] === zero ? at + 1 : digitsEnd(body, at);
  if (body[at] === 0x2e) at = digitsEnd(body, at + 1);
  if ((body[at]! | 0x20) !== 0x65) return at;
  at++;
  return digitsEnd(body, body[at] === 0x2b || body[at] === minus ? at + 1 : at);
}

function digitsEnd(body: Uint8Array, start: number): number {
  let at = start;
  while ((body[at]! ^ zero) <= 9) at++;
  if (at === start) throw notJson(at);
  return at;
}

const literals = ['true', 'false', 'null'].map((text) => Buffer.from(text));

function literalEnd(body: Uint8Array, start: number): number {
  const found = literals.find((literal) => literal.every((byte, at) => body[start + at] === byte));
  if (!found) throw notJson(start);
  return start + found.length;
}

function blanksEnd(body: Uint8Array, start: number): number {
  let at = start;
  for (let byte = body[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = body[at]) at++;
  return at;
}
