import type { Socket } from 'node:net';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { ISocketFactory, Kafka, SASLOptions } from 'kafkajs';
import { onceOpen, openSocket, resetSocket, type TlsOptions } from '#sockets';
import { lz4Decompress, snappyDecompress } from './compression.js';
import { kafkajs } from './kafkajs.js';

/** Where Kafka is and how to get in. */
export interface KafkaAddress {
  /** `host:port` of some of its brokers; the others are found through them. */
  readonly brokers: readonly string[];
  /** Stands before the name of every topic, group and subject, so that several installations can share one Kafka. */
  readonly prefix?: string;
  /** Plain TCP when left out. */
  readonly tls?: TlsOptions;
  /** Nobody asks who we are when left out. */
  readonly sasl?: Sasl;
}

/** Who we are, and how brokers make sure of it. */
export interface Sasl {
  readonly mechanism: SaslMechanism;
  readonly username: string;
  readonly password: string;
}

export type SaslMechanism = 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';

/** Which brokers a client asks first and last while it does not know the cluster. kafkajs waits for seconds for a broker that has frozen. */
export interface Order {
  readonly first?: string | undefined;
  readonly last?: readonly string[];
}

/** A Kafka client with connections of its own. */
export interface Client {
  readonly kafka: Kafka;
  /** `host:port` of the broker that it heard from last. */
  readonly heard: string | undefined;
  /** After a question without an answer, those that may have frozen: who was heard from last, and who was connected to and never heard from. */
  suspects(): readonly string[];
  /** Ends all its connections for good, at once. */
  cut(): void;
}

const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

// Other producers choose how they compress. kafkajs itself knows gzip only, and stops at the first batch that it cannot read.
const { CompressionCodecs, CompressionTypes } = kafkajs;
CompressionCodecs[CompressionTypes.Snappy] = () => ({ decompress: async (bytes: Buffer) => snappyDecompress(bytes) });
CompressionCodecs[CompressionTypes.LZ4] = () => ({ decompress: async (bytes: Buffer) => lz4Decompress(bytes) });
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async ({ buffer }: { buffer: Buffer }) => zstdCompressSync(buffer, level),
  decompress: async (bytes: Buffer) => zstdDecompressSync(bytes),
});

const retry = { initialRetryTime: 100, maxRetryTime: 1_000, multiplier: 2, factor: 0.2 };

/** @param retries after each failure; about ten seconds of them when left out. After that a caller needs a new client. */
export function newClient({ brokers, tls, sasl }: KafkaAddress, retries = 12, order: Order = {}): Client {
  const line = new Line(tls);
  const kafka = new kafkajs.Kafka({
    clientId: 'headwater',
    brokers: inOrder(brokers, order),
    ...(sasl && { sasl: saslOf(sasl) }),
    socketFactory: line.open,
    connectionTimeout: 3_000,
    authenticationTimeout: 5_000,
    requestTimeout: 5_000,
    retry: { ...retry, retries },
    // What matters to us comes as errors and events.
    logLevel: kafkajs.logLevel.NOTHING,
  });
  return {
    kafka,
    get heard() {
      return line.heard;
    },
    suspects: () => [...line.silent, ...(line.heard === undefined ? [] : [line.heard])],
    cut: () => line.cut(),
  };
}

/** A copy: kafkajs keeps in it what it has made of it. */
const saslOf = ({ mechanism, ...login }: Sasl): SASLOptions => ({
  ...login,
  mechanism: mechanism.toLowerCase() as Lowercase<SaslMechanism>,
});

/** At random but for the order: kafkajs asks the first broker of the list first, which may be the one that has frozen. */
function inOrder(brokers: readonly string[], { first, last = [] }: Order): string[] {
  const rank = (broker: string): number => (last.includes(broker) ? 1 : 0) + Math.random();
  const ranked = brokers.map((broker) => [rank(broker), broker] as const).sort(([a], [b]) => a - b);
  return [...(first === undefined ? [] : [first]), ...ranked.map(([, broker]) => broker)];
}

/** The connections of one client. Once the line is cut, nothing that the client still tries leaves this machine. */
export class Line {
  /** `host:port` of the peer that it heard from last. */
  heard: string | undefined;
  /** `host:port` of the peers that it has connected to and never heard from. */
  readonly silent = new Set<string>();
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  constructor(private readonly tls?: TlsOptions) {}

  readonly open: ISocketFactory = ({ host, port, onConnect }) => {
    const socket = openSocket({ host, port, tls: this.tls });
    onceOpen(socket, onConnect);
    this.#sockets.add(socket);
    const peer = `${host}:${port}`;
    this.silent.add(peer);
    socket.on('data', () => {
      this.heard = peer;
      this.silent.delete(peer);
    });
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#isCut) cut(socket);
    return socket;
  };

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) cut(socket);
  }
}

/** kafkajs does not hear of a reset and would wait for answers. */
const cut = (socket: Socket): void => resetSocket(socket, new Error('the line is cut'));
