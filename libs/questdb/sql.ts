import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import { Client, type ClientConfig, DatabaseError, Pool, type PoolClient, type PoolConfig, Query, type QueryArrayConfig } from 'pg';
import { TelemetryError } from '#model';
import { checking, inWords, resetSocket, type TlsOptions } from '#sockets';
import { inTurn, type Patience } from '#stores';

export type Value = string | number | null;
export type SqlRow = readonly unknown[];

const connectMs = 900;
const maxMs = 5000;
/** How long nobody asks after an attempt that got no answer. */
const restMs = 1000;
const endMs = 1000;
/** A connection is kept so long for the next question: a busy server is slow to take new ones. */
const keptMs = 60_000;
/** An answer that is older says nothing about now. */
const quietMs = 10_000;
/** Beyond 64 connections the server answers no more of them. */
const maxConnections = 32;
const maxWaiting = 1000;
const busyMs = 100;
const slowMs = 60_000;

const patience: Patience = { ms: 10_000, silent: () => undefined };

/** The types whose text becomes a number; a `::long` fits into a double because times are milliseconds. */
const int8 = 20;
const float8 = 701;
const numbers = new Set([int8, 21, 23, 700, float8]);
const types = { getTypeParser: (oid: number) => (numbers.has(oid) ? Number : (text: string) => text) };

/** The condition that a column is one of some values, which stand at the places from `first` on. A lone one in a list would be taken for an array. */
export function oneOf(column: string, first: number, values: readonly string[]): string {
  const places = values.map((_, at) => `$${first + at}`);
  return places.length === 1 ? `${column} = ${places[0]}` : `${column} IN (${places.join()})`;
}

/** A connection that can be reset, also where it speaks TLS. */
class Resettable extends Client {
  readonly tcp: Socket;

  constructor(config: ClientConfig = {}) {
    const tcp = new Socket();
    super({ ...config, stream: () => tcp, ssl: typeof config.ssl === 'object' && throughStreams(config.ssl, tcp) });
    this.tcp = tcp;
  }
}

/** TLS on the streams of a TCP socket. On the handle of the socket Node would crash when the socket is reset. */
const throughStreams = (tls: ConnectionOptions, tcp: Socket): ConnectionOptions => ({
  ...tls,
  // The pool hides the key from whoever lists the properties, and so from the copy above.
  ...(tls.key && { key: tls.key }),
  // `pg` reads this when the server has agreed to TLS.
  get socket() {
    return streamsOf(tcp);
  },
});

function streamsOf(tcp: Socket): Duplex {
  const streams = new Duplex({
    read: () => void tcp.resume(),
    write: (chunk: Uint8Array, _, done) => void tcp.write(chunk, done),
    final: (done) => void tcp.end(done),
    destroy: (_, done) => {
      tcp.destroy();
      done(null);
    },
  });
  tcp.on('data', (chunk: Uint8Array) => {
    if (!streams.push(chunk)) tcp.pause();
  });
  tcp.on('end', () => streams.push(null)).on('close', () => streams.destroy());
  return streams;
}

const cut = (client: PoolClient): void => resetSocket((client as unknown as Resettable).tcp);

/**
 * Questions to QuestDB. Each rejects `store_unavailable` within about a second while it is down, and soon after it has stopped answering.
 * One for which a server that answered the last one has no connection is asked once more: it may only be busy.
 * When a question rejects, what the network has not delivered of it is thrown away: an `UPDATE` that arrives late would change rows that were written since.
 */
export class Sql {
  readonly #pool: Pool;
  #restUntilMs = 0;
  #waiting = 0;
  /** Connections that are there and have a question. */
  readonly #working = new Set<PoolClient>();
  #whyNot: string | undefined;
  #isAsking = false;
  #answeredMs = -Infinity;
  #closed = false;

  /**
   * @param url with user and password, like `postgres://admin:quest@127.0.0.1:8812/qdb`; encrypted when it has an `sslmode` but `disable`.
   * @param tls what is trusted then.
   */
  constructor(
    private readonly url: string,
    connections = maxConnections,
    tls: TlsOptions = {},
  ) {
    this.#pool = new Pool({
      ...poolOf(url, tls),
      max: Math.min(connections, maxConnections),
      connectionTimeoutMillis: connectMs,
      query_timeout: maxMs,
      idleTimeoutMillis: keptMs,
      keepAlive: true,
      allowExitOnIdle: true,
      Client: Resettable,
    });
    // A connection that dies while nobody uses it: the pool makes another.
    this.#pool.on('error', () => undefined);
    // What has arrived is parsed in parts of 64 kB at most, on all connections together as many in one turn of the event loop as there is time for.
    this.#pool.on('connect', ({ connection: { stream } }) => {
      stream.on('data', () => {
        stream.pause();
        void inTurn().then(() => stream.resume());
      });
    });
    this.#pool.on('acquire', (client) => this.#working.add(client));
    this.#pool.on('release', (error, client) => {
      this.#working.delete(client);
      // The pool ends the connection of a question that failed. An ordinary end would leave the question to the kernel, which sends it for minutes.
      if (error && !(error instanceof DatabaseError)) cut(client);
    });
  }

  /** Rows as arrays of numbers and text, in the order of the columns. */
  async rows<R extends SqlRow = SqlRow>(text: string, values: readonly Value[] = [], patienceMs = maxMs): Promise<R[]> {
    const answer = await this.#asked(patienceMs, () => this.#pool.query(asArrays(text, values, patienceMs)));
    return answer.rows as unknown[] as R[];
  }

  /**
   * As `rows`, one row after the other, of which none is kept: for answers of any size. Rows may come twice, when the question is asked once
   * more, and before a rejection.
   *
   * @param take must not throw.
   */
  async each(text: string, values: readonly Value[], take: (row: SqlRow) => void, patienceMs = maxMs): Promise<void> {
    await this.#asked(patienceMs, () => {
      const query = new Query(asArrays(text, values, patienceMs));
      query.on('row', (row: SqlRow, result) => {
        // A query of a pool collects its rows: this drops the one before.
        result!.rows.length = 0;
        take(row);
      });
      // Not as its types say, a pool returns a promise of the end, and takes the time limit from here.
      return this.#pool.query(Object.assign(query, { query_timeout: patienceMs })) as unknown as Promise<unknown>;
    });
  }

  async #asked<T>(patienceMs: number, ask: () => Promise<T>): Promise<T> {
    if (this.#closed || this.#waiting >= maxWaiting || performance.now() < this.#restUntilMs) throw unavailable();
    this.#waiting++;
    const askedMs = performance.now();
    try {
      const answer = await ask().catch((cause: unknown) => {
        const isBusy = this.#whyNot === undefined && !(cause instanceof DatabaseError) && performance.now() - askedMs < patienceMs;
        return isBusy ? ask() : Promise.reject(cause);
      });
      this.#answered();
      return answer;
    } catch (cause) {
      const why = whyRefused(cause, this.url);
      if (why !== undefined) this.#rest(why);
      else if (cause instanceof DatabaseError) this.#answered();
      else if (this.#isSilence(askedMs)) this.#rest('QuestDB does not answer.');
      throw unavailable(cause);
    } finally {
      this.#waiting--;
    }
  }

  /**
   * Why the last question was not answered, in words for the operator. When it was not, or was long ago, reading this also asks QuestDB again.
   */
  get whyNot(): string | undefined {
    if (!this.#isAsking && (this.#whyNot !== undefined || performance.now() - this.#answeredMs > quietMs)) void this.#ask();
    return this.#whyNot;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    await this.rows('SELECT 1').catch(() => undefined);
    this.#isAsking = false;
  }

  #answered(): void {
    this.#whyNot = undefined;
    this.#answeredMs = performance.now();
  }

  #rest(why: string): void {
    this.#whyNot = why;
    this.#restUntilMs = performance.now() + restMs;
  }

  /** The server is there no more, or says nothing; not that one question takes long, or that all connections are busy. */
  #isSilence(askedMs: number): boolean {
    return this.#answeredMs < askedMs && this.#working.size < this.#pool.options.max;
  }

  /**
   * Runs statements one after the other, each of which may run twice. A statement is tried again while another process makes the same thing,
   * and through some seconds without an answer.
   */
  async run(statements: readonly string[], patient = patience): Promise<void> {
    for (const statement of statements) await this.patientRows(statement, [], patient);
  }

  /** `rows` that may take a minute, asked again after some seconds of silence. */
  async patientRows<R extends SqlRow = SqlRow>(text: string, values: readonly Value[] = [], { ms, silent } = patience): Promise<R[]> {
    for (const untilMs = performance.now() + ms; ; await pause(busyMs)) {
      try {
        return await this.rows<R>(text, values, slowMs);
      } catch (error) {
        if (this.#closed || performance.now() > untilMs || !mayPass(error)) throw error;
        silent();
      }
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // `close` does not wait for the answer of a question that is under way, and such a question does not reach the server afterwards.
    await Promise.race([this.#pool.end(), pause(endMs, undefined, { ref: false })]);
    for (const client of this.#working) cut(client);
  }
}

/** What `pg` does with the `sslmode` of a URL changes with its versions, so it is not told of it. */
function poolOf(url: string, tls: TlsOptions): PoolConfig {
  const plain = new URL(url);
  const mode = plain.searchParams.get('sslmode') ?? 'disable';
  plain.searchParams.delete('sslmode');
  return { connectionString: plain.href, ssl: mode !== 'disable' && checking(tls) };
}

/** Why QuestDB does not let us in, or why we do not trust it; undefined when it is something else. */
function whyRefused(cause: unknown, url: string): string | undefined {
  const { host } = new URL(url);
  const words = inWords(cause, host);
  if (words !== undefined) return `QuestDB cannot be used: ${words}.`;
  if (!(cause instanceof Error)) return undefined;
  if (/does not support SSL/.test(cause.message))
    return `QuestDB cannot be used: ${host} does not speak TLS, so leave sslmode out of HEADWATER_QUESTDB_PG.`;
  // QuestDB has no code of its own for it.
  const isLogin = cause instanceof DatabaseError && (cause.code?.startsWith('28') || /invalid username\/password/i.test(cause.message));
  return isLogin ? 'QuestDB refuses the user or the password in HEADWATER_QUESTDB_PG.' : undefined;
}

const asArrays = (text: string, values: readonly Value[], patienceMs: number): QueryArrayConfig & { query_timeout: number } => {
  return { text, values: [...values], rowMode: 'array', types, query_timeout: patienceMs };
};

/** Whether another attempt may work: there was no answer, or another process is making the same thing, such as a view that is replaced. */
const mayPass = (error: unknown): boolean =>
  error instanceof TelemetryError && (!(error.cause instanceof DatabaseError) || /busy|already exists/.test(error.cause.message));

function unavailable(cause?: unknown): TelemetryError {
  return new TelemetryError('store_unavailable', 'The store does not answer.', { cause, retryAfterS: 1 });
}
