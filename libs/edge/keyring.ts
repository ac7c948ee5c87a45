import { Inject, Injectable } from '@nestjs/common';
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Grouped, VIEWS, type View, type Views } from '#log';
import {
  boundSources,
  allSources,
  formatKey,
  isWellFormedKey,
  keyDisplay,
  keyRandomBytes,
  TelemetryError,
  type Actor,
  type ApiKey,
  type Caller,
} from '#model';
import { apiKeys } from '#topics';
import { isStale } from './organizations.js';
import { Revocations } from './revocations.js';

/** Secrets remembered at most. */
const maxVerified = 10_000;

/** API keys, as the log tells them. `KeyCommands` makes and deletes them. */
@Injectable()
export class Keyring {
  readonly #keys: View<ApiKey>;
  /** Made at the first list: most roles are never asked for one. */
  #byOrganization: Grouped<ApiKey> | undefined;
  /** Who bears a secret, until any key changes: hashing it for every request costs more than the rest of the check. */
  readonly #verified = new Map<string, Caller>();
  readonly #revocations: Revocations;

  constructor(@Inject(VIEWS) private readonly views: Views) {
    this.#keys = views.open(apiKeys);
    this.#keys.changes(() => this.#verified.clear());
    this.#revocations = new Revocations(this.#keys);
  }

  /** Resolves when all keys that exist are known. */
  get ready(): Promise<void> {
    return this.#keys.ready;
  }

  /** Resolves when all keys that existed at the call are known. Rejects `log_unavailable` when that takes too long. */
  caughtUp(): Promise<void> {
    return this.#keys.caughtUp();
  }

  /** Records of keys cannot be read: there may be more of them than are known, and those count as deleted. */
  hasUnreadable(): boolean {
    return this.views.unreadableKeys().some(({ topic }) => topic === apiKeys.name);
  }

  /** The log has been silent for so long that a deleted key might still be honoured. */
  isStale(): boolean {
    return isStale(this.#keys);
  }

  /** Who bears this key; undefined when it is malformed, unknown or deleted. @throws TelemetryError when the log has been silent too long. */
  verify(key: string): Caller | undefined {
    if (!this.#verified.has(key) && !isWellFormedKey(key)) return undefined;
    if (this.isStale()) throw new TelemetryError('log_unavailable', 'The server cannot tell now which keys are valid.');
    return this.#verified.get(key) ?? this.#verifyAfresh(key);
  }

  #verifyAfresh(key: string): Caller | undefined {
    const digest = sha256(key);
    const found = this.#keys.get(keyIdOf(digest));
    if (!found || !timingSafeEqual(Buffer.from(digest), Buffer.from(found.sha256))) return undefined;
    const caller: Caller = { orgId: found.orgId, keyId: found.keyId, scopes: found.scopes, bound: boundSources(found.sources) };
    if (this.#verified.size >= maxVerified) this.#verified.clear();
    this.#verified.set(key, caller);
    return caller;
  }

  /**
   * Calls `listener` once, soon after the key of this caller is deleted, or gives its bearer other rights than the caller has; where that
   * is so already, soon after the call. Returns how to end that: until then, or until it is called, a listener is held. For connections
   * that outlive one request. While the log is silent nobody can tell: then `isStale` says so.
   */
  revoked(caller: Caller, listener: () => void): () => void {
    return this.#revocations.add(caller, listener);
  }

  /** Who makes a request, for the audit log. */
  actor({ keyId, person }: Caller): Actor {
    return { id: keyId, name: person?.email ?? this.#keys.get(keyId)?.name ?? '' };
  }

  /** Keys of an organization, oldest first. Ask once `ready` has resolved. */
  list(orgId: string): readonly ApiKey[] {
    this.#byOrganization ??= new Grouped(this.#keys, (key) => key.orgId);
    return Array.from(this.#byOrganization.of(orgId)).toSorted((a, b) => a.createdMs - b.createdMs || (a.keyId < b.keyId ? -1 : 1));
  }
}

/** A key, and its secret, which is kept nowhere: whoever makes it shows it to a person, once. */
export interface NewKey {
  readonly key: ApiKey;
  readonly secret: string;
}

/** What is asked of a new key. */
export interface WantedKey extends Pick<ApiKey, 'name' | 'scopes' | 'createdBy'> {
  /** Without it: every source. */
  readonly sources?: readonly string[] | undefined;
}

/** A key that nobody has. It works once the log has it. */
export function newKey(orgId: string, { name, scopes, createdBy, sources = allSources }: WantedKey, createdMs: number): NewKey {
  const secret = formatKey(randomBytes(keyRandomBytes));
  const digest = sha256(secret);
  const key = { keyId: keyIdOf(digest), orgId, name, sha256: digest, ...keyDisplay(secret), scopes, createdMs, sources, createdBy };
  return { key, secret };
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');
const keyIdOf = (digest: string): string => `key_${digest.slice(0, 24)}`;
