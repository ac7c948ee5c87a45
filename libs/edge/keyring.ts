import { Inject, Injectable } from '@nestjs/common';
import { hash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { entry, RECORD_LOG, tombstone, VIEWS, type RecordLog, type View, type Views } from '#log';
import {
  formatKey,
  isWellFormedKey,
  keyDecider,
  keyDisplay,
  keyRandomBytes,
  TelemetryError,
  type ApiKey,
  type Caller,
  type KeyCommand,
  type KeyEvent,
  type Scope,
} from '#model';
import { apiKeys } from '#topics';
import { CLOCK, type Clock } from './clock.js';
import { KeysByOrganization } from './keys-by-organization.js';
import { Revocations } from './revocations.js';
import { appendShown, isStale } from './shown.js';

/** Secrets remembered at most. */
const maxVerified = 10_000;

/** Shows a secret to a person. Resolves when that is done. */
export type ShowSecret = (secret: string) => Promise<void>;

/** A key, and its secret, which is kept nowhere. */
export interface MadeKey {
  readonly key: ApiKey;
  readonly secret: string;
}

/** API keys, as the log tells them. They are made and ended once `ready` has resolved. */
@Injectable()
export class Keyring {
  readonly #keys: View<ApiKey>;
  /** Made at the first list: most roles are never asked for one. */
  #byOrganization: KeysByOrganization | undefined;
  /** Who bears a secret, until any key changes: hashing it for every request costs more than the rest of the check. */
  readonly #verified = new Map<string, Caller>();
  readonly #revocations: Revocations;

  constructor(
    @Inject(VIEWS) private readonly views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#keys = views.open(apiKeys);
    this.#keys.changes(() => this.#verified.clear());
    this.#revocations = new Revocations(this.#keys);
  }

  /** Resolves when all keys that exist are known. */
  get ready(): Promise<void> {
    return this.#keys.ready;
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

  /**
   * Makes a key that works here at once. The secret is kept nowhere: the caller shows it to a person, once. Rejects `log_unavailable`; the
   * key may then exist all the same, but nobody has its secret.
   */
  async create(orgId: string, name: string, scopes: readonly Scope[]): Promise<MadeKey> {
    return (await this.#make('create', orgId, name, scopes))!;
  }

  /**
   * As `create`, where the organization has no key; undefined where it has one. Where several processes do this at the same time, the key
   * that comes first in the log stays, and the others get undefined. So `show` is for where there is one process.
   *
   * @param show shows the secret before the key is made: a key that could not be shown is not made. Without it the caller shows the secret.
   */
  async createFirst(orgId: string, name: string, scopes: readonly Scope[], show?: ShowSecret): Promise<MadeKey | undefined> {
    let firstId: string | undefined;
    const end = this.#keys.changes(({ key, value }) => {
      if (value?.orgId === orgId) firstId ??= key;
    });
    const made = await this.#make('create_first', orgId, name, scopes, show).finally(end);
    if (!made || made.key.keyId === firstId) return made;
    await this.delete(orgId, made.key.keyId);
    return undefined;
  }

  /** Ends a key; false when the organization has no such key. Rejects `log_unavailable`; the key may then be gone all the same. */
  async delete(orgId: string, keyId: string): Promise<boolean> {
    const event = await this.#carryOut(orgId, { ...this.#asked(), does: 'delete', keyId });
    return event?.is === 'deleted';
  }

  async #make(
    does: 'create' | 'create_first',
    orgId: string,
    name: string,
    scopes: readonly Scope[],
    show?: ShowSecret,
  ): Promise<MadeKey | undefined> {
    const secret = formatKey(randomBytes(keyRandomBytes));
    const digest = sha256(secret);
    const asked = this.#asked();
    const key: ApiKey = { keyId: keyIdOf(digest), orgId, name, sha256: digest, ...keyDisplay(secret), scopes, createdMs: asked.askedMs };
    const event = await this.#carryOut(orgId, { ...asked, does, key }, () => show?.(secret));
    return event?.is === 'created' ? { key, secret } : undefined;
  }

  #asked(): Pick<KeyCommand, 'id' | 'askedMs'> {
    return { id: randomUUID(), askedMs: this.clock() };
  }

  /** Decides a command on what the view shows. Two processes that do this at the same time decide without each other. */
  async #carryOut(orgId: string, command: KeyCommand, beforeCreated?: () => Promise<void> | undefined): Promise<KeyEvent | undefined> {
    const keyIds = new Set(this.list(orgId).map(({ keyId }) => keyId));
    const [event] = keyDecider.decide({ ...keyDecider.initial, keyIds }, command, command.askedMs);
    if (event?.is === 'created') {
      await beforeCreated?.();
      await appendShown(this.log, this.#keys, entry(apiKeys, event.key));
    } else if (event?.is === 'deleted') await appendShown(this.log, this.#keys, tombstone(apiKeys, event.keyId));
    return event;
  }
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');
const keyIdOf = (digest: string): string => `key_${digest.slice(0, 24)}`;
