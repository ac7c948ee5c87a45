import { BadFile } from './failure.js';

/** One record of a CSV text, which may span lines when a cell is quoted. */
export interface CsvRow {
  /** Line of the file on which it begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** A longer record means that a quote was never closed. */
const maxRecordChars = 1024 * 1024;

/** Cells of CSV text (RFC 4180; lines end in LF or CRLF) that comes in pieces. Empty lines are left out. */
export class CsvReader {
  #rest = '';
  #line = 1;

  /** The rows that are complete with this piece. @throws BadFile that names the line. */
  *push(text: string): Generator<CsvRow> {
    const all = this.#rest + text;
    let start = 0;
    for (let end = recordEnd(all, start); end >= 0; end = recordEnd(all, start)) {
      yield* this.#row(all.slice(start, end));
      start = end + 1;
    }
    this.#rest = all.slice(start);
    if (this.#rest.length > maxRecordChars) throw new BadFile(`Line ${this.#line}: the row does not end; close its quote.`);
  }

  /** The last row, when the text does not end in a newline. */
  *end(): Generator<CsvRow> {
    const last = this.#rest;
    this.#rest = '';
    yield* this.#row(last);
  }

  *#row(record: string): Generator<CsvRow> {
    const line = this.#line;
    this.#line += count(record, '\n') + 1;
    const text = record.endsWith('\r') ? record.slice(0, -1) : record;
    if (text !== '') yield { line, cells: text.includes('"') ? quotedCells(text, line) : text.split(',') };
  }
}

/** Where the newline stands that ends the record, or -1: the first one that an even number of quotes precedes. */
function recordEnd(text: string, start: number): number {
  let quoted = false;
  let from = start;
  for (let end = text.indexOf('\n', start); end >= 0; end = text.indexOf('\n', from)) {
    if (count(text.slice(from, end), '"') % 2 === 1) quoted = !quoted;
    if (!quoted) return end;
    from = end + 1;
  }
  return -1;
}

/** A quoted cell with its doubled quotes, or a plain one; then a comma or the end. */
const cell = /(?:"([^"]*(?:""[^"]*)*)"|([^",]*))(,|$)/y;

function quotedCells(text: string, line: number): string[] {
  const cells: string[] = [];
  cell.lastIndex = 0;
  for (;;) {
    const found = cell.exec(text);
    if (!found) throw new BadFile(`Line ${line}: a quote is misplaced; quote the whole cell and double the quotes in it.`);
    cells.push(found[1]?.replaceAll('""', '"') ?? found[2]!);
    if (found[3] === '') return cells;
  }
}

function count(text: string, character: string): number {
  let found = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) found++;
  return found;
}

/** A cell as it stands in a CSV file; quoted only where it must be. */
export const csvCell = (text: string): string => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
