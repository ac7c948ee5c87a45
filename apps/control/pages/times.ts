const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const two = (number: number): string => String(number).padStart(2, '0');

/** All times are in UTC: nobody knows where who reads the page is. */
export const dayText = (ms: number): string => `${new Date(ms).getUTCDate()} ${months[new Date(ms).getUTCMonth()]}`;
export const clockText = (ms: number): string => `${two(new Date(ms).getUTCHours())}:${two(new Date(ms).getUTCMinutes())}`;

/** Such as `23 Nov 2026, 14:05`. */
export const timeText = (ms: number): string => `${dayText(ms)} ${new Date(ms).getUTCFullYear()}, ${clockText(ms)}`;
/** Such as `23 Nov 2026, 14:05:09`. */
export const secondText = (ms: number): string => `${timeText(ms)}:${two(new Date(ms).getUTCSeconds())}`;

const units = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const;

/** A length of time in its largest whole unit: `3 hours`. */
export function lengthText(ms: number): string {
  const [size, name] = units.find(([one]) => Math.abs(ms) >= one) ?? units.at(-1)!;
  const count = Math.floor(Math.abs(ms) / size);
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}

/** How long ago something was, in words. */
export const agoText = (ms: number, nowMs: number): string =>
  Math.abs(nowMs - ms) < 5_000 ? 'just now' : nowMs > ms ? `${lengthText(nowMs - ms)} ago` : `in ${lengthText(ms - nowMs)}`;
