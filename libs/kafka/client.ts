import { connect, type Socket } from 'node:net';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { ISocketFactory, Kafka, KafkaConfig } from 'kafkajs';
import { lz4Decompress, snappyDecompress } from './compression.js';
import { kafkajs } from './kafkajs.js';

/** Where Kafka is and how to get in. */
export interface KafkaAddress {
  /** `host:port` of some of its brokers; the others are found through them. */
  readonly brokers: readonly string[];
  /** Stands before the name of every topic, group and subject, so that several installations can share one Kafka. */
  readonly prefix?: string;
  readonly sasl?: KafkaConfig['sasl'];
}

/** A Kafka client with connections of its own. */
export interface Client {
  readonly kafka: Kafka;
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

const keepAliveMs = 60_000;
const retry = { initialRetryTime: 100, maxRetryTime: 1_000, multiplier: 2, factor: 0.2 };

/** @param retries after each failure; about ten seconds of them when left out. After that a caller needs a new client. */
export function newClient({ brokers, sasl }: KafkaAddress, retries = 12): Client {
  const line = new Line();
  const kafka = new kafkajs.Kafka({
    clientId: 'headwater',
    brokers: shuffled(brokers),
    ...(sasl && { sasl }),
    socketFactory: line.open,
    connectionTimeout: 3_000,
    authenticationTimeout: 5_000,
    requestTimeout: 5_000,
    retry: { ...retry, retries },
    // What matters to us comes as errors and events.
    logLevel: kafkajs.logLevel.NOTHING,
  });
  return { kafka, cut: () => line.cut() };
}

/** kafkajs asks the first broker of the list first, which may be the one that has frozen. */
function shuffled(brokers: readonly string[]): string[] {
  return brokers
    .map((broker) => [Math.random(), broker] as const)
    .sort(([a], [b]) => a - b)
    .map(([, broker]) => broker);
}

/** The connections of one client. Once the line is cut, nothing that the client still tries leaves this machine. */
export class Line {
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  readonly open: ISocketFactory = ({ host, port, onConnect }) => {
    const socket = connect({ host, port }, onConnect);
    socket.setKeepAlive(true, keepAliveMs).setNoDelay(true);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#isCut) cut(socket);
    return socket;
  };

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) cut(socket);
  }
}

function cut(socket: Socket): void {
  const error = new Error('the line is cut');
  if (socket.connecting) socket.destroy(error);
  // Node cannot reset a socket that is just ending, and would never close it; the end takes only a moment.
  else if (isEnding(socket)) socket.once('finish', () => cut(socket));
  else {
    // After an ordinary end the kernel would go on sending what is in its buffers, for minutes where the network is away.
    socket.resetAndDestroy();
    // kafkajs does not hear of a reset and would wait for answers.
    socket.emit('error', error);
  }
}

/** Whether the kernel has everything but the end of the stream. */
const isEnding = ({ writableEnded, writableFinished, writableLength }: Socket): boolean =>
  writableEnded && !writableFinished && writableLength === 0;
