import type { Answered } from '#edge';
import { causes } from '#model';
import type { Logger } from './logger.js';

/** Frequent routes are logged at level debug only: a line costs a third of the CPU of a small ingest. */
const frequent = /^\/(ingest|health.*)$/;

const lookMs = 1_000;
/** Refusals of one kind are at most one line in so long. */
const everyMs = 60_000;
/** A flood of bad keys is over when none came for so long. */
const quietMs = 2_000;
/** Kinds of refusals that are told apart in a minute, and addresses in one kind: the rest is counted together. */
const maxKinds = 1_000;
const maxAddresses = 1_000;

/** What makes refusals the same for an operator, such as a bad key on whatever route. */
interface Kind {
  readonly name: string;
  readonly fields: object;
  readonly text: string;
  /** Whether the first of them waits for more, so that a flood is one line. */
  readonly waits?: boolean;
}

/** Refusals of one kind since their last line. */
interface Refusals {
  readonly kind: Kind;
  /** When the last line was written; while the first one waits, when that was refused. */
  readonly sinceMs: number;
  /** Undefined once a line was written. */
  readonly first?: Answered | undefined;
  lastMs: number;
  count: number;
  readonly addresses: Set<string>;
}

/**
 * One line for each request, without anything that the client sent. Refusals of one kind are one line at the first of them and one a minute
 * with their number: neither an outage nor somebody who guesses keys fills the log. Bad keys wait for a quiet moment, a minute at most, and
 * are one line with their number.
 */
export class RequestLog {
  readonly #refusals = new Map<string, Refusals>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Logger) {}

  add(answered: Answered): void {
    const { failure, route, status } = answered;
    if (failure?.kind === 'internal') this.#write('error', answered);
    else if (failure && this.#isCounted(answered)) this.#write('debug', answered);
    else if (failure) this.#tellOne(answered);
    else this.#write(frequent.test(route) || status === 499 ? 'debug' : 'info', answered);
  }

  /** Writes what has been counted and not told. */
  stop(): void {
    for (const refusals of this.#refusals.values()) this.#tell(refusals);
    this.#refusals.clear();
    clearInterval(this.#timer);
  }

  #write(level: 'error' | 'warn' | 'info' | 'debug', answered: Answered): void {
    if (!this.logger.isLevelEnabled(level)) return;
    const { requestId, method, route, status, durationMs, complete, address, orgId, keyId, failure } = answered;
    const fields = {
      request_id: requestId,
      method,
      route,
      status,
      ms: Math.round(durationMs * 100) / 100,
      ...(orgId && { org_id: orgId, key_id: keyId }),
      ...(failure && { code: failure.code, client: address }),
      ...(failure?.kind === 'unavailable' && failure.cause !== undefined && { cause: causes(failure.cause) }),
      ...(!complete && { client_left: true }),
      ...(failure?.kind === 'internal' && { err: failure.cause ?? failure }),
    };
    this.logger[level](fields, `${method} ${route || '(no route)'} ${status}`);
  }

  /** Whether a line for this refusal is written later, together with others. */
  #isCounted(answered: Answered): boolean {
    let kind = kindOf(answered);
    if (!this.#refusals.has(kind.name) && this.#refusals.size >= maxKinds) kind = others;
    const nowMs = performance.now();
    const known = this.#refusals.get(kind.name);
    const refusals = known ?? this.#open(kind, nowMs, kind.waits ? answered : undefined);
    if (!known && !kind.waits) return false;
    const { address } = answered;
    refusals.count++;
    refusals.lastMs = nowMs;
    if (address !== undefined && refusals.addresses.size < maxAddresses) refusals.addresses.add(address);
    return true;
  }

  #open(kind: Kind, nowMs: number, first?: Answered): Refusals {
    const refusals = { kind, sinceMs: nowMs, lastMs: nowMs, first, count: 0, addresses: new Set<string>() };
    this.#refusals.set(kind.name, refusals);
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref();
    return refusals;
  }

  #look(): void {
    const nowMs = performance.now();
    for (const refusals of this.#refusals.values()) {
      const { kind, sinceMs, lastMs, first, count } = refusals;
      if (nowMs - sinceMs < everyMs && !(first && nowMs - lastMs >= quietMs)) continue;
      this.#refusals.delete(kind.name);
      if (count > 0) this.#open(kind, nowMs);
      this.#tell(refusals);
    }
    if (this.#refusals.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tell({ kind, first, count, addresses }: Refusals): void {
    if (first && count === 1) return this.#tellOne(first);
    if (count === 0) return;
    const [client] = addresses;
    this.logger.warn({ ...kind.fields, refused: count, clients: addresses.size, client }, `${count}${first ? '' : ' more'}: ${kind.text}`);
  }

  #tellOne(answered: Answered): void {
    this.#write(answered.failure!.kind === 'unavailable' ? 'warn' : 'info', answered);
  }
}

const others: Kind = { name: '', fields: {}, text: 'requests refused for other reasons' };

/** Bad keys are of one kind on all routes: somebody who guesses them is refused for it first, and for the number of guesses afterwards. */
function kindOf({ failure, method, route, orgId }: Answered): Kind {
  const { code, kind } = failure!;
  if (code === 'invalid_key' || code === 'too_many_failed_keys')
    return { name: 'invalid_key', fields: { code: 'invalid_key' }, text: 'requests without a valid key', waits: true };
  // An outage refuses all organizations alike.
  const fields = { method, route, code, ...(orgId && kind !== 'unavailable' && { org_id: orgId }) };
  return { name: JSON.stringify(fields), fields, text: `${method} ${route || '(no route)'} refused, ${code}` };
}
