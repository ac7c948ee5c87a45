import type { Provider } from '@nestjs/common';
import type { Clock } from '#edge';
import type { Metric } from '#model';
import type { Config } from './settings.js';

/** The ports of one shape, open: what stands behind the tokens that roles ask for. */
export interface OpenBackend {
  readonly providers: readonly Provider[];
  readonly metrics: readonly Metric[];
  /** What the operator should know and need not mend before the start, as sentences. */
  readonly warnings: readonly string[];
  /** Everything durable and visible, files closed. */
  close(): Promise<void>;
  /** Ends where it stands, as a crash would. */
  crash(): Promise<void>;
}

/** A shape: where the log and the stores are. */
export interface Backend {
  /** @throws Error with a sentence for the operator. */
  open(config: Config, clock: Clock): Promise<OpenBackend>;
  /** Whether the first start makes an organization and a key. */
  readonly makesFirstKey: boolean;
}
