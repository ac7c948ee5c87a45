import { type Patience, UnfitStore } from '#stores';
import { type Ask, columnsOf, layoutOf } from './layout.js';
import type { Row, Sql } from './sql.js';
import { creating, type Partitioning, type Tables, type Wanted, wantedTables } from './tables.js';

/** Makes what is missing; tables that an earlier version has made stay as they are. Rejects `store_unavailable`, and UnfitStore. */
export async function ensureTables(sql: Sql, tables: Tables, by: Partitioning, patience?: Patience): Promise<void> {
  await sql.run(creating(tables, by), patience);
  const ask = <R extends Row>(text: string): Promise<R[]> => sql.patientRows<R>(text, [], patience);
  const layout = await layoutOf(ask, tables);
  const differences: string[] = [];
  for (const wanted of wantedTables(tables, by, layout)) differences.push(...differencesOf(await found(ask, wanted.table), wanted));
  if (differences.length > 0) throw new UnfitStore(differences.join('\n'));
}

type Found = Omit<Wanted, 'table'>;

async function found(ask: Ask, table: string): Promise<Found> {
  const columns = await columnsOf(ask, table);
  const [row] = await ask<[string]>(`SELECT partitionBy FROM tables() WHERE table_name = '${table}'`);
  return {
    columns: columns.map(({ name, type }) => `${name} ${type}`).join(', '),
    partitionBy: row?.[0] ?? 'NONE',
    keys: columns.flatMap(({ name, isKey }) => (isKey ? name : [])).join(', '),
  };
}

function* differencesOf(is: Found, { table, ...wanted }: Wanted): Generator<string> {
  const remake = 'run `headwater rebuild`, which makes new tables';
  if (is.partitionBy !== wanted.partitionBy) {
    const back = 'set HEADWATER_QUESTDB_PARTITION back to what it was';
    yield `QuestDB's table ${table} is partitioned by ${is.partitionBy}, not by ${wanted.partitionBy}: ${back}, or ${remake}.`;
  }
  if (is.columns !== wanted.columns) yield `QuestDB's table ${table} has the columns ${is.columns}, not ${wanted.columns}: ${remake}.`;
  if (is.keys !== wanted.keys) yield `QuestDB's table ${table} has the keys ${is.keys || 'of no column'}, not ${wanted.keys}: ${remake}.`;
}
