/** Control characters other than a newline. */
const steering = /[^\P{Cc}\n]/gu;
/** Text from a file, a record or a server's answer, without characters that control a terminal. */
export const harmless = (text: string): string => text.replaceAll(steering, '?');

/** Text from elsewhere as a part of a line. */
export const oneLine = (text: string): string => harmless(text).replaceAll('\n', ' ');

/** A number with its noun, for a person: `1 row`, `22,695 rows`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** A size for a person: `0.4 MB`, `1,250.0 MB`. */
export const megabytes = (bytes: number): string =>
  `${(bytes / 1e6).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })} MB`;

/** Lines of cells, each column as wide as its widest cell. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const line = (row: readonly string[]): string => row.map((cell, at) => cell.padEnd(widths[at]!)).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}
