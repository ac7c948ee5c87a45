/** What stands before the columns of a line. */
interface Head {
  readonly table: string;
  readonly symbols: readonly (readonly [name: string, value: string])[];
}

/** A row of line protocol, read. */
export interface LineRow extends Head {
  readonly columns: readonly (readonly [name: string, value: number, whole: boolean])[];
  readonly timestampMs: number;
}

const [space, newline, comma, equals, whole] = Buffer.from(' \n,=i') as unknown as [number, number, number, number, number];

/** Reads bodies that our own encoder made of names without special characters. */
export class LineRows {
  readonly #heads = new Map<string, Head>();

  of(body: Uint8Array): LineRow[] {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const rows: LineRow[] = [];
    for (let at = 0; at < bytes.length;) {
      const columnsAt = bytes.indexOf(space, at);
      const head = this.#head(bytes.toString('latin1', at, columnsAt));
      const { columns, end } = columnsOf(bytes, columnsAt);
      at = bytes.indexOf(newline, end) + 1;
      rows.push({ ...head, columns, timestampMs: Number(bytes.toString('latin1', end + 1, at - 1)) });
    }
    return rows;
  }

  #head(text: string): Head {
    const known = this.#heads.get(text);
    if (known) return known;
    const [table, ...symbols] = text.split(',');
    const head = { table: table!, symbols: symbols.map((symbol) => symbol.split('=') as [string, string]) };
    this.#heads.set(text, head);
    return head;
  }
}

function columnsOf(bytes: Buffer, from: number): { readonly columns: LineRow['columns']; readonly end: number } {
  const columns: (readonly [string, number, boolean])[] = [];
  let end = from;
  do {
    const nameEnd = bytes.indexOf(equals, end);
    const name = bytes.toString('latin1', end + 1, nameEnd);
    if (bytes[nameEnd + 1] === equals) {
      columns.push([name, bytes.readDoubleLE(nameEnd + 3), false]);
      end = nameEnd + 11;
    } else {
      const numberEnd = bytes.indexOf(whole, nameEnd);
      columns.push([name, Number(bytes.toString('latin1', nameEnd + 1, numberEnd)), true]);
      end = numberEnd + 1;
    }
  } while (bytes[end] === comma);
  return { columns, end };
}
