import type { TelemetryError } from '#model';

/** What is known of a request once its answer is out. */
export interface Answered {
  readonly requestId: string;
  readonly method: string;
  /** The route's pattern, never what the client sent; empty when no route fits. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  /** False when the client left before it had the answer. */
  readonly complete: boolean;
  readonly orgId?: string | undefined;
  readonly failure?: TelemetryError | undefined;
}

export type Observer = (answered: Answered) => void;
