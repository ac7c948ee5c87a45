/** A span of values, and those of them that are written beside a chart. */
export interface Scale {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly { readonly value: number; readonly label: string }[];
}

const wantedSteps = 4;
/** Values that differ by less than this, beside their size, are drawn as one: the digits of doubles end there. */
const leastRelative = 1e-12;

/** A span with round ends that holds all values from `low` to `high`, which are finite. */
export function scaleOf(low: number, high: number): Scale {
  const size = Math.max(Math.abs(low), Math.abs(high));
  // Of halves, because the distance of two huge values is no number.
  if (high / 2 - low / 2 <= (size / 2) * leastRelative || size < 1e-300) {
    const room = size < 1e-300 ? 1 : size * 0.1;
    return spanned(clamped(low - room), clamped(high + room));
  }
  return spanned(low, high);
}

function spanned(low: number, high: number): Scale {
  const step = roundUp((high / wantedSteps - low / wantedSteps) * 0.999_999);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  const count = Math.min(last - first, 2 * wantedSteps);
  const values = Array.from({ length: count + 1 }, (_, at) => clamped((first + at) * step));
  const write = tickWriter(values, step);
  return { low: values[0]!, high: values.at(-1)!, ticks: values.map((value) => ({ value, label: write(value) })) };
}

/** 1, 2, 2.5 or 5 times a power of ten, at least `step`. */
function roundUp(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  return ([1, 2, 2.5, 5].find((factor) => factor * power >= step) ?? 10) * power;
}

const clamped = (value: number): number => Math.min(Math.max(value, -Number.MAX_VALUE), Number.MAX_VALUE);

/** Where a value lies between the ends of a scale: 0 to 1. */
export const placeOn = ({ low, high }: Pick<Scale, 'low' | 'high'>, value: number): number => (value / 2 - low / 2) / (high / 2 - low / 2);

const units = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e4, 'k'],
] as const;

/** Writes the ticks of one scale alike: the same unit and as many decimals as tell them apart. */
function tickWriter(values: readonly number[], step: number): (value: number) => string {
  const size = Math.max(...values.map(Math.abs));
  if (size >= 1e15 || size < 1e-4) {
    const digits = Math.min(4, Math.max(1, Math.ceil(Math.log10(size / step) - 1e-9)));
    return (value) => (value === 0 ? '0' : shortExponent(value.toExponential(digits)));
  }
  const [least = 1, letter = ''] = units.find(([from]) => size >= from) ?? [];
  const unit = letter === 'k' ? 1e3 : least;
  const decimals = decimalsOf(step / unit);
  return (value) => `${withMinus((value / unit).toFixed(decimals))}${letter}`;
}

/** How many decimals a round step needs. */
function decimalsOf(step: number): number {
  for (let decimals = 0; decimals < 9; decimals++)
    if (Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) < 1e-6) return decimals;
  return 9;
}

const shortExponent = (text: string): string => withMinus(text.replace(/\.?0+e/, 'e').replace('e+', 'e'));
const withMinus = (text: string): string => (Number(text) === 0 ? text.replace('-', '') : text.replaceAll('-', '\u2212'));

const sixDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 });
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** A value in a sentence or a table: of six digits, or of all before the point. */
export function valueText(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-6)) return shortExponent(value.toExponential(5));
  return withMinus((size < 1e5 ? sixDigits : whole).format(value).replaceAll(',', '\u202F'));
}
