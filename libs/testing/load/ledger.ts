import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

/** A body that was acknowledged. */
export interface Acknowledged {
  readonly device: number;
  readonly at: number;
}

/** What was acknowledged, on disk before anybody goes on: one line a body. */
export class Ledger {
  readonly #file: number;
  #unwritten: string[] = [];
  #writing: Promise<void> | undefined;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  /** Resolves once the line is on disk; lines that come in one turn of the event loop share an fsync. */
  add({ device, at }: Acknowledged): Promise<void> {
    this.#unwritten.push(`${device} ${at}\n`);
    this.#writing ??= new Promise((resolve) =>
      setImmediate(() => {
        writeSync(this.#file, this.#unwritten.join(''));
        fsyncSync(this.#file);
        this.#unwritten = [];
        this.#writing = undefined;
        resolve();
      }),
    );
    return this.#writing;
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Every whole line of a ledger, in the order of the acknowledgements. */
export function readLedger(path: string): readonly Acknowledged[] {
  const text = readFileSync(path, 'utf8');
  const lines = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
  return lines.map((line) => {
    const [device, at] = line.split(' ').map(Number);
    return { device: device!, at: at! };
  });
}
