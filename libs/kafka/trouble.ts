import { setTimeout as sleep } from 'node:timers/promises';
import { TelemetryError } from '#model';
import { isTlsError } from '#sockets';

/** What went wrong: our own words, else the innermost of the errors that kafkajs and Node wrap in each other. */
export function reasonOf(error: unknown): string {
  const errors = chain(error);
  const ours = errors.find((it) => it instanceof TelemetryError);
  const innermost = (ours ?? errors.at(-1)) as { readonly message?: string; readonly code?: string; readonly broker?: string } | undefined;
  if (isLogin(innermost)) return `${innermost.message}: check HEADWATER_KAFKA_SASL, HEADWATER_KAFKA_USERNAME and HEADWATER_KAFKA_PASSWORD`;
  // As a broker does that wants TLS or a password from one who comes without.
  if (isClosed(innermost))
    return `${innermost?.broker} closes our connections: if it always does, check HEADWATER_KAFKA_TLS and HEADWATER_KAFKA_SASL`;
  return (innermost?.message?.replace(/^Connection error: /, '') || innermost?.code) ?? String(error);
}

/**
 * Whether a broker refuses our connections or our name and password, or one side refuses the certificate of the other: trying again may help only
 * once somebody has mended it.
 */
export const isRefusal = (error: unknown): boolean => chain(error).some((it) => isClosed(it) || isLogin(it) || isTlsError(it));

const isClosed = (error: unknown): boolean => nameOf(error) === 'KafkaJSConnectionClosedError';

const isLogin = (error: unknown): error is Error =>
  nameOf(error) === 'KafkaJSSASLAuthenticationError' || kafkaType(error) === 'UNSUPPORTED_SASL_MECHANISM';

const nameOf = (error: unknown): string | undefined => (error instanceof Error ? error.name : undefined);

/** Kafka's name for what went wrong, such as `MESSAGE_TOO_LARGE`; undefined when it is not an answer of a broker. */
export function kafkaErrorOf(error: unknown): string | undefined {
  return chain(error)
    .map(kafkaType)
    .find((type) => type !== undefined);
}

const kafkaType = (error: unknown): string | undefined => (error as { readonly type?: string } | undefined)?.type;

class NoAnswer extends Error {
  constructor() {
    super('no broker has answered');
  }
}

/** Whether a new client may help: the connection failed, or another broker leads the partition. False when the answer itself cannot be read. */
export const mayHelpAgain = (error: unknown): boolean =>
  error instanceof NoAnswer || (error as { readonly retriable?: boolean }).retriable === true;

function chain(error: unknown): readonly unknown[] {
  const errors = [error];
  for (let cause = error; cause instanceof Error && cause.cause !== undefined && errors.length < 8;) errors.push((cause = cause.cause));
  return errors;
}

/** Something that does not work. */
export interface Failure {
  readonly error: unknown;
  /** Since when, by the monotonic clock. */
  readonly sinceMs: number;
}

/** The same failure goes on, or a new one begins. */
export const failing = (error: unknown, before: Failure | undefined): Failure => ({
  error,
  sinceMs: before?.sinceMs ?? performance.now(),
});

export const patienceMs = 5_000;

/** Whether it has gone on for so long that it will hardly be over in a moment. */
export const lasts = (failure: Failure): boolean => performance.now() - failure.sinceMs > patienceMs;

/** Why, once it has lasted long enough to be told. */
export function complaint(what: string, failure: Failure | undefined): string | undefined {
  return failure && lasts(failure) ? `${what}: ${reasonOf(failure.error)}` : undefined;
}

export function logUnavailable(detail: string, cause?: unknown): TelemetryError {
  return new TelemetryError('log_unavailable', detail, { cause, retryAfterS: 1 });
}

const pauseMs = { first: 100, max: 5_000 };

/** Resolves after that time, or at once when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/** Tries until it works, after ever longer pauses; undefined once `signal` says that nobody wants it any more. */
export async function untilDone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
  for (let ms = pauseMs.first; !signal.aborted; ms = Math.min(2 * ms, pauseMs.max)) {
    try {
      return await work();
    } catch {
      await pause(ms, signal);
    }
  }
  return undefined;
}

/** Resolves with what the promise does, or with undefined when that takes longer. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  // Not a timer with a signal: to abort one makes an error each time, with its stack.
  const timer = setTimeout(resolve, ms, undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** As the promise, but rejects when that takes longer. */
export async function answered<T>(ms: number, promise: Promise<T>): Promise<T> {
  const answer = await within(
    ms,
    promise.then((value) => ({ value })),
  );
  if (!answer) throw new NoAnswer();
  return answer.value;
}
