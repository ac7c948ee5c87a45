import type { TlsOptions } from '#sockets';
import { type GenerationStore, type KeptFrom, laterOf, type SeriesStore, type Stores } from '#stores';
import type { HttpAccess } from './access.js';
import { Client } from './client.js';
import { type CommitMode, Commits } from './commits.js';
import { Deletions } from './deletions.js';
import { Figures, Outage, type WritePath } from './delivery.js';
import { dump } from './dump.js';
import { EventReads } from './event-reads.js';
import { QuestDbEventStore } from './event-store.js';
import { HttpSink } from './http-sink.js';
import { Kept, moving } from './kept.js';
import { Lookups } from './lookups.js';
import { metricsOf } from './metrics.js';
import { SeriesReads } from './series-reads.js';
import { QuestDbSeriesStore } from './series-store.js';
import { Slices } from './slices.js';
import { Sql } from './sql.js';
import {
  creatingKept,
  dropPartitions,
  ensureTables,
  type Layout,
  layoutOf,
  levels,
  newest,
  type Partitioning,
  shortcomings,
  shortened,
  type Tables,
  tablesOf,
} from './tables.js';
import { copy, partsOf } from './take-over.js';
import { publishing } from './views.js';
import { Visibility } from './visibility.js';

export interface QuestDbOptions {
  /** Base address of line protocol over HTTP, like `http://127.0.0.1:9000`. */
  readonly httpUrl: string;
  /** How to get in there. */
  readonly http?: HttpAccess;
  /** Address of the PostgreSQL protocol with user and password, like `postgres://admin:quest@127.0.0.1:8812/qdb`. */
  readonly pgUrl: string;
  /** What is trusted when that has an `sslmode` other than `disable`. */
  readonly pgTls?: TlsOptions;
  /** Server time, Unix milliseconds. */
  readonly clock: () => number;
  /** How new tables are cut; by day by default. */
  readonly partitioning?: Partitioning;
  /** What QuestDB must do before it accepts rows; `sync` by default. */
  readonly commit?: CommitMode;
}

/** The projections in QuestDB. */
export interface QuestDb extends GenerationStore {
  open(generation: number): Stores & { readonly series: SettledSeriesStore };
}

/** A series store that can be told to show what it took. */
export interface SettledSeriesStore extends SeriesStore {
  /** Resolves when raw reads see what was written before the call. */
  flush(): Promise<void>;
}

interface Generation extends Stores {
  readonly series: QuestDbSeriesStore;
  readonly events: QuestDbEventStore;
  readonly layout: () => Promise<Layout>;
  readonly kept: Kept;
  readonly deletions: Deletions;
}

/** Stands in the table of boundaries of a generation that has taken over everything. */
const everythingMark = 'everything';

/** The live generation, the one that is made beside it, and the one that readers are leaving. Writers of others hold memory for nothing. */
const maxGenerations = 3;

/** Opens no connection before the first question, so it works while the server is down. */
export function openQuestDb({ httpUrl, http, pgUrl, pgTls, clock, partitioning = 'DAY', commit = 'sync' }: QuestDbOptions): QuestDb {
  const reading = new Sql(pgUrl, 16, pgTls);
  // Of two generations at work, with questions that may take a minute.
  const writing = new Sql(pgUrl, 8, pgTls);
  const looking = new Sql(pgUrl, 2, pgTls);
  const visibility = new Visibility(looking);
  const commits = new Commits(writing, commit);
  const figures = new Figures();
  const sinks = [new HttpSink(httpUrl, http), new HttpSink(httpUrl, http)] as const;
  const clients = [new Client(httpUrl, http), new Client(httpUrl, http)] as const;
  const generations = new Map<number, Generation>();

  const open = (generation: number): Generation => {
    const tables = tablesOf(generation);
    const slices = new Slices(reading, tables);
    const layout = remembered(() => layoutOf((text) => writing.rows(text), tables));
    const writable = async (): Promise<Layout> => {
      await commits.check();
      return layout();
    };
    const kept = new Kept(writing, tables.kept);
    const deletions = new Deletions({ sql: writing, tables, kept });
    const lookups = new Lookups(reading, tables);
    const path = (...names: readonly (keyof Tables)[]): WritePath => ({
      visibility,
      outage: new Outage(),
      figures,
      tables: names.map((name) => tables[name]),
    });
    const rollups = levels.map(({ table }) => table);
    const parts = {
      tables,
      partitioning,
      points: { ...path('points'), sink: sinks[0] },
      rollups: { ...path(...rollups), sink: sinks[1] },
      all: path('points', ...rollups, 'metrics'),
      deletions,
      client: clients[0],
      sql: writing,
      kept,
      layout: writable,
    };
    const series = new QuestDbSeriesStore(parts, new SeriesReads(lookups, tables, slices, kept, clock));
    const eventReads = new EventReads(lookups, tables, slices, layout, kept);
    const events = new QuestDbEventStore(clients[1], path('events'), eventReads, { layout: writable, kept, deletions });
    return { series, events, layout, kept, deletions };
  };
  const forget = ([generation, { series, events }]: readonly [number, Generation]): void => {
    generations.delete(generation);
    for (const store of [series, events]) store.end().catch(() => undefined);
  };
  const generationOf = (generation: number): Generation => {
    const known = generations.get(generation) ?? open(generation);
    // The one that was asked for last comes last.
    generations.delete(generation);
    generations.set(generation, known);
    if (generations.size > maxGenerations) forget(generations.entries().next().value!);
    return known;
  };
  const end = async (): Promise<void> => {
    const ends = [...generations.values()].flatMap(({ series, events }) => [series.end(), events.end()]);
    for (const sink of sinks) sink.close();
    await Promise.all([...ends, ...clients.map((client) => client.close())]);
    await Promise.all([reading, writing, looking].map((sql) => sql.close()));
  };
  const whyNot = (): string | undefined => {
    const [suspended] = visibility.suspended;
    if (suspended) return `QuestDB has suspended the table ${suspended.table}: ${suspended.reason}`;
    const [trouble] = [...generations.values()].flatMap(({ series, events }) => series.trouble ?? events.trouble ?? []);
    return trouble ?? reading.whyNot ?? (sinks.some(({ slow }) => slow) ? 'QuestDB does not answer.' : undefined);
  };

  const keepFrom = async (generation: number, from: Partial<KeptFrom>): Promise<void> => {
    const { kept } = generationOf(generation);
    const tables = tablesOf(generation);
    const statement = moving(tables.kept, await kept.now(), from);
    if (statement === undefined) return;
    await writing.run([creatingKept(tables), statement]);
    await visibility.of([tables.kept], () => undefined);
    await kept.now();
  };

  return {
    open: generationOf,
    ensure: async (generation, patience) => {
      await commits.ensure(patience);
      await ensureTables(writing, tablesOf(generation), partitioning, patience);
    },
    shortcomings: async (generation) => shortcomings(await generationOf(generation).layout(), generation),
    publish: async (generation) => writing.run(publishing(tablesOf(generation), await generationOf(generation).layout())),
    drop: (generation) => writing.run(Object.values(tablesOf(generation)).map((table) => `DROP TABLE IF EXISTS ${table}`)),
    keptFrom: (generation) => generationOf(generation).kept.now(),
    keepFrom,
    dropBefore: async (generation, from) => {
      const tables = tablesOf(generation);
      for (const [table, what] of shortened) {
        if (from[what] > 0) await dropPartitions(writing, tables[table], from[what]);
      }
    },
    takeOver: async (generation, from, everything) => {
      const { kept, layout, deletions } = generationOf(from);
      const [to, tables] = [tablesOf(generation), tablesOf(from)];
      const boundaries = await kept.now();
      // Tables that are lost have no layout, and nothing to take over.
      const itsLayout = everything ? await layout() : newest;
      await keepFrom(generation, boundaries);
      const parts = partsOf(boundaries, itsLayout, everything);
      // Before the rows: of those that a later deletion leaves none is from before the points that are kept.
      if (parts.length > 0) await generationOf(generation).deletions.note(await deletions.obeyed());
      await copy(writing, tables, to, parts);
      if (everything) await writing.run([`INSERT INTO ${to.kept} (ts, what) VALUES (0, '${everythingMark}')`]);
      await visibility.of(Object.values(to), () => undefined);
    },
    hasEverything: async (generation) => {
      const rows = await writing.rows(`SELECT DISTINCT what FROM ${tablesOf(generation).kept}`);
      return rows.some(([what]) => what === everythingMark);
    },
    async *rows(generation, at, from) {
      const { layout, kept } = generationOf(generation);
      yield* dump(reading, tablesOf(generation), await layout(), laterOf(await kept.now(), from ?? {}), at);
    },
    health: whyNot,
    whyNotWritten: () => commits.whyNot,
    metrics: metricsOf(
      figures,
      () => visibility.suspended.length,
      () => generations.values(),
    ),
    close: end,
    crash: end,
  };
}

/** Asks until there is an answer, which stays. */
function remembered<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask().catch((cause: unknown) => {
      answer = undefined;
      throw cause;
    });
    return answer;
  };
}
