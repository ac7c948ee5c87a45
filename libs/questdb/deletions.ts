import type { Deletion } from '#model';
import type { Placed } from '#stores';
import type { Delivery } from './delivery.js';
import { type Kept, noneWhereNothingHasGone } from './kept.js';
import { chunks } from './questions.js';
import { sourceKey } from './series-names.js';
import { oneOf, type Sql, type Value } from './sql.js';
import { creatingKept, levels, type Tables } from './tables.js';

/** Sources in one statement. */
const maxSources = 500;

/** A record that may delete. */
type MayDelete = Placed<{ readonly orgId: string; readonly sourceId: string; readonly deleted?: Deletion | null }>;

/**
 * Sorts a batch of records into its deletions, which are obeyed first, and its other records, without what a later deletion of the batch deletes. So a
 * batch needs one deletion in QuestDB at most, which takes a third of a second; meanwhile the processor takes no record of anybody.
 * @param without what is left of a record once some metrics are gone.
 */
export function afterDeletions<R extends MayDelete>(
  records: readonly R[],
  without: (record: R, isGone: (metric: string) => boolean) => R,
): { readonly deletions: readonly R[]; readonly left: readonly R[] } {
  const deletions = records.filter(({ value }) => value.deleted);
  if (deletions.length === 0) return { deletions, left: records };
  /** Metrics by source that a later record deletes; null is all of them. */
  const gone = new Map<string, Set<string | null>>();
  const left: R[] = [];
  for (const record of records.toReversed()) {
    const { orgId, sourceId, deleted } = record.value;
    const key = sourceKey(orgId, sourceId);
    const its = gone.get(key);
    if (!deleted) left.push(its ? without(record, (metric) => its.has(null) || its.has(metric)) : record);
    else if (its) its.add(deleted.metric);
    else gone.set(key, new Set([deleted.metric]));
  }
  return { deletions, left: left.toReversed() };
}

/** Sources of an organization that go, or one metric of them. */
interface Doomed {
  readonly orgId: string;
  readonly sources: readonly string[];
  readonly metric: string | null;
}

/** What these records delete, as few statements can say it. */
function doomedBy(records: readonly MayDelete[]): Doomed[] {
  const alike = Map.groupBy(records, ({ value: { orgId, deleted } }) => JSON.stringify([orgId, deleted!.metric]));
  return [...alike.values()].flatMap((its) => {
    const { orgId, deleted } = its[0]!.value;
    const sources = [...new Set(its.map(({ value }) => value.sourceId))];
    return chunks(sources, maxSources).map((some) => ({ orgId, sources: some, metric: deleted!.metric }));
  });
}

/** The columns of a row that say whose it is and what; the first one is that without which nobody finds it. */
const columns: Partial<{ readonly [Table in keyof Tables]: readonly string[] }> = {
  points: ['org', 'value'],
  ...Object.fromEntries(levels.map(({ table }) => [table, ['org', 'min', 'max', 'sum', 'count']])),
  metrics: ['org'],
  events: ['org', 'value', 'tags', 'digest'],
};

/** Where deletions are obeyed. */
export interface DeletionParts {
  readonly sql: Sql;
  readonly tables: Tables;
  readonly kept: Kept;
}

const pointTables = ['points', ...levels.map(({ table }) => table)] as const;

/**
 * Deletes rows that were written before. QuestDB has no statement for that, so they get no organization and no values, and every question asks for an
 * organization.
 *
 * Whoever calls has everything visible that stands before the deletion in its partition, or does not write it any more, and writes nothing that stands
 * behind it until this resolves. So a deletion never takes what came later, unless it is read again, after a crash or for a rebuild: then all that stands behind it is
 * read again too, as nothing is committed past a deletion that was not obeyed. That does not make again what is older than the points that are kept: the
 * log's points of that time are not taken any more. So there a deletion that was obeyed once does nothing when it comes again. Up to which
 * offset that is so stands in the table of boundaries, and goes over to the next generation with the rows.
 */
export class Deletions {
  constructor(private readonly parts: DeletionParts) {}

  /** Resolves when readers see no points, buckets and names from before these records. Rejects `store_unavailable`. */
  async ofPoints(records: readonly MayDelete[], delivery: Delivery, giveUp: () => void): Promise<void> {
    const { raw } = await this.parts.kept.now();
    const obeyed = raw > 0 ? await this.obeyed() : new Map<number, number>();
    const again = records.filter(({ partition, offset }) => offset <= (obeyed.get(partition) ?? -1));
    const first = records.filter((record) => !again.includes(record));
    const tried = (attempt: () => Promise<void>): Promise<void> => delivery.untilItWorks(attempt, giveUp);
    await tried(() => this.#erase(doomedBy(first), [...pointTables, 'metrics'], delivery));
    await tried(() => this.#eraseAgain(doomedBy(again), raw, delivery));
    await tried(() => this.note(lastOf(records)));
  }

  /** Resolves when readers see no events from before these records. Rejects `store_unavailable`. */
  ofEvents(records: readonly MayDelete[], delivery: Delivery, giveUp: () => void): Promise<void> {
    return delivery.untilItWorks(() => this.#erase(doomedBy(records), ['events'], delivery), giveUp);
  }

  /** By partition the last deletion of points that was obeyed. Rejects `store_unavailable`. */
  async obeyed(): Promise<ReadonlyMap<number, number>> {
    const { sql, tables } = this.parts;
    const rows = await sql
      .rows<[what: string, offset: number]>(`SELECT what, max(ts)::long FROM ${tables.kept} WHERE what LIKE '${mark('%')}' GROUP BY what`)
      .catch(noneWhereNothingHasGone);
    return new Map(rows.map(([what, offset]) => [Number(what.slice(mark('').length)), offset]));
  }

  /** Notes that deletions up to these offsets are obeyed, by partition. Rejects `store_unavailable`. */
  async note(obeyed: ReadonlyMap<number, number>): Promise<void> {
    if (obeyed.size === 0) return;
    const { sql, tables } = this.parts;
    const rows = Array.from(obeyed, ([partition, offset]) => `(${offset}::timestamp, '${mark(partition)}')`);
    await sql.run([creatingKept(tables), `INSERT INTO ${tables.kept} (ts, what) VALUES ${rows.join(', ')}`]);
  }

  /** What is before the points that are kept stays, and so do the names of the metrics that have something there. */
  async #eraseAgain(doomed: readonly Doomed[], fromMs: number, delivery: Delivery): Promise<void> {
    const { sql, tables } = this.parts;
    await this.#erase(doomed, pointTables, delivery, ` AND ts >= '${new Date(fromMs).toISOString()}'`);
    await this.#erase(doomed, ['metrics'], delivery);
    for (const one of doomed) {
      delivery.check();
      const { where, values } = conditionOf(one, 'metrics');
      const left = `SELECT DISTINCT 0::timestamp, org, source, metric FROM ${tables.rollup1d} WHERE ${where}`;
      await sql.rows(`INSERT INTO ${tables.metrics} (ts, org, source, metric) ${left}`, values);
    }
    await delivery.shows([tables.metrics]);
  }

  /** Rejects while something is left: QuestDB drops a statement in silence which fails when the table comes to it. */
  async #erase(doomed: readonly Doomed[], names: readonly (keyof Tables)[], delivery: Delivery, more = ''): Promise<void> {
    const { sql, tables } = this.parts;
    const all = doomed.flatMap((one) => names.map((name) => ({ name, table: tables[name], ...conditionOf(one, name, more) })));
    for (const { name, table, where, values } of all) {
      delivery.check();
      const nothing = columns[name]!.map((column) => `${column} = null`).join(', ');
      await sql.rows(`UPDATE ${table} SET ${nothing} WHERE ${where}`, values);
    }
    if (all.length > 0) await delivery.shows(names.map((name) => tables[name]));
    for (const { table, where, values } of all) {
      const left = await sql.rows(`SELECT ts FROM ${table} WHERE ${where} LIMIT 1`, values);
      if (left.length > 0) throw new Error(`QuestDB has not deleted rows of ${table}`);
    }
  }
}

/** The last offset of each partition. */
function lastOf(records: readonly MayDelete[]): Map<number, number> {
  const last = new Map<number, number>();
  for (const { partition, offset } of records) last.set(partition, Math.max(offset, last.get(partition) ?? -1));
  return last;
}

function conditionOf(
  { orgId, sources, metric }: Doomed,
  name: keyof Tables,
  more = '',
): { readonly where: string; readonly values: Value[] } {
  const where = `org = $1 AND ${oneOf('source', 2, sources)}`;
  if (metric === null) return { where: where + more, values: [orgId, ...sources] };
  const its = `${where} AND ${name === 'events' ? 'name' : 'metric'} = $${2 + sources.length}`;
  return { where: its + more, values: [orgId, ...sources, metric] };
}

/** What a row of the table of boundaries is about that says up to which offset the deletions of a partition are obeyed. */
const mark = (partition: number | string): string => `deleted in ${partition}`;
