import type { DatabaseSync } from 'node:sqlite';
import { checkRow } from '../checksum.js';
import { type Handlers, Transferred } from '../worker.js';
import { numbersIn } from './directory-rows.js';

/** Sources that are asked for, as columns. */
export interface AskedSources {
  readonly orgIds: readonly string[];
  readonly sourceIds: readonly string[];
}

/** What the store has of them: the number of each, 0 where there is none, and its series as in `DirectoryColumns`. */
export interface FoundSources {
  readonly ids: Uint32Array;
  readonly pairs: Uint32Array;
  readonly ends: Uint32Array;
}

/** A question for the sources of an organization that have a metric, by its number, and whose names come behind another. */
export interface FleetRequest {
  readonly orgId: string;
  readonly metric: number;
  readonly after: string;
}

/** Some sources in the order of their names, and the series of each. */
export interface FleetPart {
  readonly sourceIds: readonly string[];
  readonly series: readonly number[];
  /** The name behind which to ask on; undefined when there is no more. */
  readonly last: string | undefined;
}

/** Sources that are looked at in one turn of the thread, which has other reads to answer. */
const sourcesOfPart = 2048;

interface SourceRow {
  readonly id: number;
  readonly name: string;
  readonly series: Uint8Array;
  readonly crc: number;
}

/** What the store's reader thread does for names. It throws TelemetryError `store_corrupt` when a row is damaged. */
export function nameReader(db: DatabaseSync): Handlers {
  const one = db.prepare('SELECT id, name, series, crc FROM source INDEXED BY source_name WHERE org = ? AND name = ?');
  const some = db.prepare(
    'SELECT id, name, series, crc FROM source INDEXED BY source_name WHERE org = ? AND name > ? ORDER BY name LIMIT ?',
  );
  const pairsOf = (orgId: string, { id, name, series, crc }: SourceRow): Uint32Array => {
    checkRow(`source ${id}`, crc, id, orgId, name, series);
    return numbersIn(series);
  };
  return {
    'series.sources': ({ orgIds, sourceIds }: AskedSources) => {
      const rows = sourceIds.map((sourceId, at) => one.get(orgIds[at]!, sourceId) as SourceRow | undefined);
      const all = rows.map((row, at) => (row ? pairsOf(orgIds[at]!, row) : none));
      let length = 0;
      const ends = Uint32Array.from(all, (pairs) => (length += pairs.length));
      const pairs = new Uint32Array(length);
      for (const [at, its] of all.entries()) pairs.set(its, ends[at - 1] ?? 0);
      const ids = Uint32Array.from(rows, (row) => row?.id ?? 0);
      return new Transferred({ ids, pairs, ends } satisfies FoundSources, [pairs.buffer]);
    },
    'series.fleet': ({ orgId, metric, after }: FleetRequest): FleetPart => {
      const rows = some.all(orgId, after, sourcesOfPart) as unknown as SourceRow[];
      const [sourceIds, series]: [string[], number[]] = [[], []];
      for (const row of rows) {
        const pairs = pairsOf(orgId, row);
        for (let at = 0; at < pairs.length; at += 2) {
          if (pairs[at] !== metric) continue;
          sourceIds.push(row.name);
          series.push(pairs[at + 1]!);
        }
      }
      return { sourceIds, series, last: rows.length < sourcesOfPart ? undefined : rows.at(-1)!.name };
    },
  };
}

const none = new Uint32Array(0);
