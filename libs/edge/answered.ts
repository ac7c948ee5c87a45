import type { TelemetryError } from '#model';

/** What is known of a request once its answer is out. */
export interface Answered {
  readonly requestId: string;
  readonly method: string;
  /** The route's pattern, never what the client sent; empty when no route fits, as `method` is when there was no request yet. */
  readonly route: string;
  /** 499 when the client left before there was one. */
  readonly status: number;
  readonly durationMs: number;
  /** False when the client left before it had the answer. */
  readonly complete: boolean;
  /** Where the request came from; undefined when the connection was reset before. */
  readonly address?: string | undefined;
  /** The organization of the API key; undefined when the key was missing or refused. */
  readonly orgId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly failure?: TelemetryError | undefined;
}

export type Observer = (answered: Answered) => void;
