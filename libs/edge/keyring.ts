import { Inject, Injectable } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { VIEWS, type View, type Views } from '#log';
import { isWellFormedKey, TelemetryError, type ApiKey, type Caller } from '#model';
import { apiKeys } from '#topics';
import { KeysByOrganization } from './keys-by-organization.js';
import { keyIdOf, sha256 } from './new-key.js';
import { isStale } from './organizations.js';
import { Revocations } from './revocations.js';

/** Secrets remembered at most. */
const maxVerified = 10_000;

/** API keys, as the log tells them. `KeyCommands` makes and deletes them. */
@Injectable()
export class Keyring {
  readonly #keys: View<ApiKey>;
  /** Made at the first list: most roles are never asked for one. */
  #byOrganization: KeysByOrganization | undefined;
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
    const caller: Caller = { orgId: found.orgId, keyId: found.keyId, scopes: found.scopes };
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

  /** Keys of an organization, oldest first. Ask once `ready` has resolved. */
  list(orgId: string): readonly ApiKey[] {
    this.#byOrganization ??= new KeysByOrganization(this.#keys);
    return Array.from(this.#byOrganization.of(orgId)).toSorted((a, b) => a.createdMs - b.createdMs || (a.keyId < b.keyId ? -1 : 1));
  }
}
