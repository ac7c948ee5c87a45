import type { Provider } from '@nestjs/common';
import type { Check, Clock } from '#edge';
import type { Dependency, Metric, NameLimits } from '#model';
import type { MakeBackup } from './backup-route.js';
import type { Config } from './settings.js';

/** The ports of one shape, open: what stands behind the tokens that roles ask for. */
export interface OpenBackend {
  readonly providers: readonly Provider[];
  readonly metrics: readonly Metric[];
  /** Why a role should not be sent requests, as far as its ports know. */
  readonly checks: readonly Check[];
  /** What its ports need beside this process. Of what is spare, readiness has a warning while it cannot be used. */
  readonly dependencies: readonly Dependency[];
  /** Resolves when the log can be read. Rejects OperatorError where the operator can mend it. */
  readonly opened: Promise<void>;
  /** Makes a backup of everything that is kept; undefined where that is no work of this process. */
  readonly backup?: MakeBackup;
  /** Everything durable and visible, files closed. */
  close(): Promise<void>;
  /** Ends where it stands, as a crash would. */
  crash(): Promise<void>;
}

/** A shape: where the log and the stores are. */
export interface Backend {
  /**
   * Rejects OperatorError where the operator can mend it.
   * @param report hears what an operator should know, from now on.
   */
  open(config: Config, clock: Clock, report: (message: string) => void): Promise<OpenBackend>;
  /** Whether it listens before the log can be read, and answers 503 until then. Otherwise it listens once it can answer. */
  readonly listensAtOnce: boolean;
  /** Whether the first start makes an organization and a key. */
  readonly makesFirstKey: boolean;
  /** How many names an organization may have active in one process, where nobody says. */
  readonly names: NameLimits;
  /** How often every consumer group takes a checkpoint, milliseconds. */
  checkpointMs(config: Config): number;
}
