/** Lines of cells, each column as wide as its widest cell. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const line = (row: readonly string[]): string => row.map((cell, at) => cell.padEnd(widths[at]!)).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}
