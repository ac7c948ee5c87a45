import type { Row } from './sql.js';

/**
 * In what the tables of a generation may differ from those that are made today: a generation keeps the tables that it was made with, until
 * `headwater rebuild` makes the next one.
 */
export interface Layout {
  /** Whether tags are among the keys of points. Where they are not, of points that differ in tags only the last one stays. */
  readonly tagsAreKeys: boolean;
  /**
   * Whether the receive time is among the keys of events. Where it is not, events of one time are ordered by the places in their bodies,
   * whenever they came.
   */
  readonly arrivalsAreKeys: boolean;
}

/** Of tables that are made today. */
export const newest: Layout = { tagsAreKeys: true, arrivalsAreKeys: true };

/**
 * Reads from the tables of a generation how they were made. Rejects `store_unavailable`, also when they are missing.
 * @param tables names of the generation's tables of points and of events.
 */
export async function layoutOf(ask: Ask, tables: { readonly points: string; readonly events: string }): Promise<Layout> {
  const isKey = async (table: string, column: string): Promise<boolean> =>
    (await columnsOf(ask, table)).some(({ name, isKey: is }) => name === column && is);
  return { tagsAreKeys: await isKey(tables.points, 'tags'), arrivalsAreKeys: await isKey(tables.events, 'received') };
}

/** What readers and writers of this generation have to do without, in sentences for the operator; empty for the newest layout. */
export function shortcomings({ tagsAreKeys, arrivalsAreKeys }: Layout, generation: number): string[] {
  const made = `in generation ${generation}, which an earlier version made`;
  const remake = 'Run `headwater rebuild`, which makes new tables from the log.';
  const tags = `Tags are not part of a point's identity ${made}: of points that differ in tags only the last one stays. ${remake}`;
  const arrivals = `Events of one millisecond do not come in the order of their arrival ${made}. ${remake}`;
  return [...(tagsAreKeys ? [] : [tags]), ...(arrivalsAreKeys ? [] : [arrivals])];
}

/** Asks a question: with patience or without. */
export type Ask = <R extends Row>(text: string) => Promise<R[]>;

/** A column of a table. */
export interface Column {
  readonly name: string;
  /** As in a statement that makes the table. */
  readonly type: string;
  readonly isKey: boolean;
}

export async function columnsOf(ask: Ask, table: string): Promise<Column[]> {
  const rows = await ask<[string, string, string, string]>(
    `SELECT "column", type, indexed::varchar, upsertKey::varchar FROM table_columns('${table}')`,
  );
  return rows.map(([name, type, indexed, isKey]) => ({
    name,
    type: `${type}${indexed === 'true' ? ' INDEX' : ''}`,
    isKey: isKey === 'true',
  }));
}
