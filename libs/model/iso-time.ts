const pattern = /^(\d{4}-\d{2}-\d{2})(?:[Tt](\d{2}:\d{2})(?:(:\d{2})(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/;

/**
 * Unix milliseconds of an ISO 8601 time: a date, with or without a time of day, with or without an offset; without one it is UTC.
 * Digits beyond the milliseconds are cut off. Undefined when the text is not such a time or no calendar has it.
 */
export function isoTimeMs(text: string): number | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, date, minute = '00:00', second = ':00', fraction = '', offset = 'Z'] = match;
  if (date!.slice(8) > '28' && !isInCalendar(date!)) return undefined;
  const local = Date.parse(`${date}T${minute}${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`);
  const ahead = offsetMs(offset);
  return Number.isNaN(local) || minute.startsWith('24') || ahead === undefined ? undefined : local - ahead;
}

function isInCalendar(date: string): boolean {
  const midnight = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
}

/** How far the clock of an offset is ahead of UTC. */
function offsetMs(offset: string): number | undefined {
  if (offset === 'Z' || offset === 'z') return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(3).replace(':', ''));
  if (hours > 23 || minutes > 59) return undefined;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
