import { isUtf8 } from 'node:buffer';
import { TelemetryError } from './errors.js';
import { closeBrace, closeBracket, openBrace, openBracket, quote, stringEnd } from './json-bytes.js';
import { byteOrderMark, maxJsonDepth, notJson } from './json-passer.js';
import { jsonValue } from './json-value.js';

/**
 * One JSON value from its UTF-8; a byte order mark before it is skipped. Of equal keys in an object the last wins, and `__proto__` is an
 * own key like any other.
 *
 * @throws TelemetryError `invalid_json`; `json_too_deep` beyond 64 levels, found before anything recurses.
 */
export function parseJson(bytes: Uint8Array): unknown {
  checkJson(bytes);
  try {
    return jsonValue(withoutMark(bytes));
  } catch {
    throw notJson();
  }
}

/** What must hold before anything reads JSON. @throws TelemetryError `invalid_json` when it is not UTF-8, `json_too_deep`. */
export function checkJson(bytes: Uint8Array): void {
  if (!isUtf8(bytes)) throw new TelemetryError('invalid_json', 'Send the body encoded as UTF-8: it holds bytes that are not.');
  if (isDeeperThan(maxJsonDepth, bytes)) throw new TelemetryError('json_too_deep', `Nest objects and arrays at most ${maxJsonDepth} deep.`);
}

function isDeeperThan(limit: number, bytes: Uint8Array): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === quote) at = stringEnd(bytes, at);
    else if (byte === openBrace || byte === openBracket) {
      if (++depth > limit) return true;
    } else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  return false;
}

function withoutMark({ buffer, byteOffset, length }: Uint8Array): Buffer {
  const bytes = Buffer.from(buffer, byteOffset, length);
  return bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? bytes.subarray(byteOrderMark.length) : bytes;
}
