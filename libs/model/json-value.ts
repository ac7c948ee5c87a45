import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote, stringEnd } from './json-bytes.js';

/**
 * The value that `JSON.parse` should give. Once V8 has seen an object with a key that ends with a backslash, its `JSON.parse` takes that key for others that
 * have an escape in the same place (nodejs/node issue 63785), so that one organization could change the tags of another. Whatever has an escape in
 * a key is therefore put together here.
 *
 * @param bytes valid UTF-8 without a byte order mark, nested at most `maxJsonDepth` deep, because this function recurses. @throws SyntaxError when they are no JSON.
 */
export function jsonValue(bytes: Buffer): unknown {
  const value: unknown = JSON.parse(bytes.toString());
  return hasEscapedKey(bytes) ? valueOf(bytes) : value;
}

function hasEscapedKey(bytes: Buffer): boolean {
  if (!bytes.includes(backslash)) return false;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== quote) continue;
    const end = stringEnd(bytes, at);
    let behind = end + 1;
    while (bytes[behind]! <= 0x20) behind++;
    if (bytes[behind] === colon && bytes.subarray(at, end).includes(backslash)) return true;
    at = end;
  }
  return false;
}

/** Of bytes that are known to be JSON: what stands between values need not be looked at. */
function valueOf(bytes: Buffer): unknown {
  let at = 0;
  const next = (): number => {
    while (bytes[at]! <= 0x20 || bytes[at] === comma || bytes[at] === colon) at++;
    return bytes[at]!;
  };
  const scalar = (): unknown => {
    const first = next();
    const start = at;
    if (first === quote) at = stringEnd(bytes, at) + 1;
    else while (isWithin(bytes[at])) at++;
    return JSON.parse(bytes.toString('utf8', start, at));
  };
  const value = (): unknown => {
    const first = next();
    if (first !== openBrace && first !== openBracket) return scalar();
    at++;
    const items: unknown[] = [];
    if (first === openBracket) while (next() !== closeBracket) items.push(value());
    else while (next() !== closeBrace) items.push([scalar(), value()]);
    at++;
    return first === openBracket ? items : Object.fromEntries(items as [string, unknown][]);
  };
  return value();
}

const isWithin = (byte: number | undefined): boolean =>
  byte !== undefined && byte > 0x20 && byte !== comma && byte !== closeBrace && byte !== closeBracket;
