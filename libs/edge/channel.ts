import type { z } from 'zod';

/** A message of a channel: one text frame. */
export interface ChannelMessage {
  readonly summary: string;
  readonly schema: z.ZodType;
  /** Each as it stands in a frame. */
  readonly examples: readonly [object, ...object[]];
}

/** What the AsyncAPI document says of one WebSocket. */
export interface Channel {
  /** Unique over the whole API. */
  readonly id: string;
  /** With parameters in braces, for example `/v1/sources/{source_id}/logs/stream`. */
  readonly path: string;
  readonly title: string;
  readonly description: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** What the server takes, by name. */
  readonly takes: Readonly<Record<string, ChannelMessage>>;
  /** What the server sends, by name. */
  readonly sends: Readonly<Record<string, ChannelMessage>>;
  /** With which codes the server closes the socket, and when. */
  readonly closes: Readonly<Record<number, string>>;
}
