const date = String.raw`(?<year>\d{4})(?:-?W(?<week>\d{2})-?(?<weekday>[1-7])|-?(?<ordinal>\d{3})|-(?<month>\d{2})-(?<day>\d{2})|(?<month2>\d{2})(?<day2>\d{2}))`;
const time = String.raw`(?<hour>\d{2})(?::?(?<minute>\d{2})(?::?(?<second>\d{2}))?)?(?:[.,](?<decimals>\d+))?`;
const offset = String.raw`(?<zone>[Zz]|(?<sign>[-+−])(?<zoneHour>\d{2})(?::?(?<zoneMinute>\d{2}))?)`;
const pattern = new RegExp(`^${date}(?:[Tt ]${time}${offset}?)?$`);

const usualLength = '2026-11-28T12:00:00.000Z'.length;

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

type Parts = Readonly<Record<string, string | undefined>>;

/**
 * Unix milliseconds of an ISO 8601 time: a date (calendar, week or ordinal), with or without a time of day (also hours alone), with or
 * without an offset; without one it is UTC. Separators may be left out, a blank may stand for the `T`, and the last part of the time may
 * have decimals; what is finer than a millisecond is cut off. Undefined when the text is not such a time or no calendar has it.
 */
export function isoTimeMs(text: string): number | undefined {
  return usualMs(text) ?? anyMs(text);
}

/** Most clients write times as `toISOString` does: these need no pattern, which takes ten times as long. */
function usualMs(text: string): number | undefined {
  if (text.length !== usualLength) return undefined;
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text ? ms : undefined;
}

function anyMs(text: string): number | undefined {
  const parts = pattern.exec(text)?.groups;
  if (!parts) return undefined;
  const [day, clock, ahead] = [dayStartMs(parts), timeMs(parts), offsetMs(parts)];
  if (day === undefined || clock === undefined || ahead === undefined) return undefined;
  const ms = day + clock - ahead;
  // A leap second comes at midnight UTC and nowhere else; to Unix it is the second after it.
  return parts['second'] === '60' && ms - (ms % secondMs) !== Math.floor(ms / dayMs) * dayMs ? undefined : ms;
}

function dayStartMs({ year = '', week, weekday, ordinal, month, day, month2, day2 }: Parts): number | undefined {
  const newYear = Date.parse(`${year}-01-01T00:00:00Z`);
  if (week !== undefined) {
    // The first week is that of January 4th, and ends with its Sunday.
    const monday = (start: number): number => start + 3 * dayMs - ((new Date(start + 3 * dayMs).getUTCDay() + 6) % 7) * dayMs;
    const start = monday(newYear) + (Number(week) - 1) * 7 * dayMs;
    const next = monday(Date.parse(`${year}-12-31T00:00:00Z`) + dayMs);
    return Number(week) >= 1 && start < next ? start + (Number(weekday) - 1) * dayMs : undefined;
  }
  if (ordinal !== undefined) {
    const start = newYear + (Number(ordinal) - 1) * dayMs;
    return Number(ordinal) >= 1 && start <= Date.parse(`${year}-12-31T00:00:00Z`) ? start : undefined;
  }
  const iso = `${year}-${month ?? month2}-${day ?? day2}`;
  const start = Date.parse(`${iso}T00:00:00Z`);
  return !Number.isNaN(start) && new Date(start).toISOString().startsWith(iso) ? start : undefined;
}

function timeMs({ hour = '0', minute, second, decimals = '' }: Parts): number | undefined {
  const [hours, minutes, seconds] = [Number(hour), Number(minute ?? 0), Number(second ?? 0)];
  if (hours > 24 || minutes > 59 || seconds > 60) return undefined;
  const unitMs = second === undefined ? (minute === undefined ? hourMs : minuteMs) : secondMs;
  // Nine digits of an hour are finer than a millisecond, and their product is exact.
  const digits = decimals.slice(0, 9);
  const fraction = Math.floor((Number(digits) * unitMs) / 10 ** digits.length);
  const ms = hours * hourMs + minutes * minuteMs + seconds * secondMs + fraction;
  return hours === 24 && (ms > dayMs || /[1-9]/.test(decimals)) ? undefined : ms;
}

/** How far the clock of the offset is ahead of UTC. */
function offsetMs({ sign, zoneHour = '0', zoneMinute = '0' }: Parts): number | undefined {
  const [hours, minutes] = [Number(zoneHour), Number(zoneMinute)];
  if (hours > 23 || minutes > 59) return undefined;
  return (sign === undefined || sign === '+' ? 1 : -1) * (hours * hourMs + minutes * minuteMs);
}
