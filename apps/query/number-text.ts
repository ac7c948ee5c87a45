const point = 0x2e;
const minus = 0x2d;

/** The longest number has a sign, `0.00000` and 17 digits; the last digits are written four bytes at a time. */
export const numberBytes = 26;

/** A plain number is an integer below 1e15, or below this with at most six decimals: of at most 15 digits, so no shorter text means the same double. */
const maxPlain = 1e9;

const padded = (n: number): string => `${n}`.padStart(3, '0');

/** The numbers below 1000 as text: as they are, and with leading zeros to three digits. The bytes of a text are those of a little-endian integer. */
const plainTexts = texts(String);
const paddedTexts = texts(padded);
/** How many digits each of these numbers has without leading zeros. */
const digits = Uint8Array.from({ length: 1000 }, (_, n) => `${n}`.length);
/** How many of the three digits of each number are left without the zeros at its end. */
const decimals = Uint8Array.from({ length: 1000 }, (_, n) => padded(n).replace(/0+$/, '').length);

/**
 * Writes a plain number as `JSON.stringify` prints it and returns where it ends; -1 when the number is not plain. It writes three digits at a time: one
 * by one they take twice as long.
 *
 * @param into has `numberBytes` bytes of room from `at` on.
 */
export function writeNumber(value: number, into: DataView, at: number): number {
  const size = Math.abs(value);
  let end = at;
  if (value < 0) into.setUint8(end++, minus);
  const whole = Math.floor(size);
  if (whole === size) return size < 1e15 ? writeInteger(size, into, end) : -1;
  const millionths = Math.floor(size * 1e6 + 0.5);
  if (size >= maxPlain || millionths / 1e6 !== size) return -1;
  end = writeSmall(whole | 0, into, end);
  into.setUint8(end++, point);
  return writeDecimals((millionths - whole * 1e6) | 0, into, end);
}

/** Writes an integer below 1e15. */
function writeInteger(value: number, into: DataView, at: number): number {
  if (value < 1e9) return writeSmall(value | 0, into, at);
  const high = Math.floor(value / 1e9);
  const end = writeSmall(high | 0, into, at);
  const low = (value - high * 1e9) | 0;
  const thousands = (low / 1000) | 0;
  const millions = (thousands / 1000) | 0;
  writePadded(millions, into, end);
  writePadded(thousands - millions * 1000, into, end + 3);
  return writePadded(low - thousands * 1000, into, end + 6);
}

/** Writes an integer below 1e9 and returns where it ends. */
function writeSmall(value: number, into: DataView, at: number): number {
  if (value < 1000) return writeFirst(value, into, at);
  const thousands = (value / 1000) | 0;
  const last = value - thousands * 1000;
  if (thousands < 1000) return writePadded(last, into, writeFirst(thousands, into, at));
  const millions = (thousands / 1000) | 0;
  return writePadded(last, into, writePadded(thousands - millions * 1000, into, writeFirst(millions, into, at)));
}

/** Writes millionths, which are not 0, as the digits behind a decimal point. */
function writeDecimals(millionths: number, into: DataView, at: number): number {
  const high = (millionths / 1000) | 0;
  const low = millionths - high * 1000;
  writePadded(high, into, at);
  if (low === 0) return at + decimals[high]!;
  writePadded(low, into, at + 3);
  return at + 3 + decimals[low]!;
}

/** Writes an integer below 1000 as it is. */
function writeFirst(value: number, into: DataView, at: number): number {
  into.setUint32(at, plainTexts[value]!, true);
  return at + digits[value]!;
}

/** Writes an integer below 1000 with leading zeros to three digits. */
function writePadded(value: number, into: DataView, at: number): number {
  into.setUint32(at, paddedTexts[value]!, true);
  return at + 3;
}

function texts(of: (n: number) => string): Uint32Array {
  return Uint32Array.from({ length: 1000 }, (_, n) => Buffer.from(of(n).padEnd(4)).readUInt32LE());
}
