import { Inject, Injectable } from '@nestjs/common';
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { entry, RECORD_LOG, tombstone, VIEWS, type RecordLog, type View, type Views } from '#log';
import {
  formatKey,
  isWellFormedKey,
  keyDisplay,
  keyRandomBytes,
  TelemetryError,
  type ApiKey,
  type Caller,
  type Organization,
  type Scope,
} from '#model';
import { apiKeys, organizations } from '#topics';
import { CLOCK, type Clock } from './clock.js';

const staleMs = 300_000;
/** Secrets remembered at most. */
const mostVerified = 10_000;

/** Shows a secret to a person. Resolves when that is done. */
export type ShowSecret = (secret: string) => Promise<void>;

/** Organizations and their API keys, as the log tells them. */
@Injectable()
export class Keyring {
  readonly #organizations: View<Organization>;
  readonly #keys: View<ApiKey>;
  /** Who bears a secret, until any key changes: hashing it for every request costs more than the rest of the check. */
  readonly #verified = new Map<string, Caller>();

  constructor(
    @Inject(VIEWS) private readonly views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#organizations = views.open(organizations);
    this.#keys = views.open(apiKeys);
    this.#keys.changes(() => this.#verified.clear());
  }

  /** Resolves when all keys that exist are known. */
  async ready(): Promise<void> {
    await Promise.all([this.#organizations.ready, this.#keys.ready]);
  }

  /** Records of organizations and keys cannot be read: there may be more of them than it knows, and those count as deleted. */
  hasUnreadable(): boolean {
    const own: readonly string[] = [organizations.name, apiKeys.name];
    return this.views.unreadableKeys().some(({ topic }) => own.includes(topic));
  }

  /** The log has been silent for so long that a deleted key might still be honoured. */
  isStale(): boolean {
    return Math.max(this.#organizations.ageMs(), this.#keys.ageMs()) > staleMs;
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
    if (this.#verified.size >= mostVerified) this.#verified.clear();
    this.#verified.set(key, caller);
    return caller;
  }

  hasPaymentMethod(orgId: string): boolean {
    return this.#organizations.get(orgId)?.paymentMethodOnFile ?? false;
  }

  organizations(): readonly Organization[] {
    return Array.from(this.#organizations.scan(''), ([, organization]) => organization);
  }

  async createOrganization(
    name: string,
    paymentMethodOnFile: boolean,
    orgId = `org_${randomBytes(8).toString('hex')}`,
  ): Promise<Organization> {
    const organization: Organization = { orgId, name, paymentMethodOnFile, createdMs: this.clock() };
    await this.log.append([entry(organizations, organization)]);
    await shows(this.#organizations, orgId, true);
    return organization;
  }

  /** Keys of an organization, oldest first. */
  list(orgId: string): readonly ApiKey[] {
    const own = Array.from(this.#keys.scan('key_'), ([, key]) => key).filter((key) => key.orgId === orgId);
    return own.toSorted((a, b) => a.createdMs - b.createdMs || (a.keyId < b.keyId ? -1 : 1));
  }

  /**
   * Makes a key that works here at once. The secret is kept nowhere: it is shown to a person, once.
   *
   * @param show shows the secret before the key is made: a key that could not be shown is not made. Without it the caller shows the secret.
   */
  async create(orgId: string, name: string, scopes: readonly Scope[], show?: ShowSecret): Promise<{ key: ApiKey; secret: string }> {
    const secret = formatKey(randomBytes(keyRandomBytes));
    const digest = sha256(secret);
    const key: ApiKey = {
      keyId: keyIdOf(digest),
      orgId,
      name,
      sha256: digest,
      ...keyDisplay(secret),
      scopes,
      createdMs: this.clock(),
    };
    await show?.(secret);
    await this.log.append([entry(apiKeys, key)]);
    await shows(this.#keys, key.keyId, true);
    return { key, secret };
  }

  /**
   * As `create`, for an organization without a key. Where several processes do this at the same time, the key that comes first in the log
   * stays; whose own is another one gets undefined. So `show` is for where there is one process.
   */
  async createFirst(
    orgId: string,
    name: string,
    scopes: readonly Scope[],
    show?: ShowSecret,
  ): Promise<{ key: ApiKey; secret: string } | undefined> {
    let firstId: string | undefined;
    const end = this.#keys.changes(({ key, value }) => {
      if (value?.orgId === orgId) firstId ??= key;
    });
    const made = await this.create(orgId, name, scopes, show).finally(end);
    if (made.key.keyId === firstId) return made;
    await this.delete(orgId, made.key.keyId);
    return undefined;
  }

  /** Ends a key; false when the organization has no such key. */
  async delete(orgId: string, keyId: string): Promise<boolean> {
    if (this.#keys.get(keyId)?.orgId !== orgId) return false;
    await this.log.append([tombstone(apiKeys, keyId)]);
    await shows(this.#keys, keyId, false);
    return true;
  }
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');
const keyIdOf = (digest: string): string => `key_${digest.slice(0, 24)}`;

/** Resolves when the view has the key, or has it no more. */
function shows<V>(view: View<V>, key: string, present: boolean): Promise<void> {
  const done = (): boolean => (view.get(key) !== undefined) === present;
  if (done()) return Promise.resolve();
  return new Promise((resolve) => {
    const end = view.changes(() => {
      if (!done()) return;
      end();
      resolve();
    });
  });
}
