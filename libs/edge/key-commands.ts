import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { entry, RECORD_LOG, VIEWS, type RecordLog, type View, type Views } from '#log';
import { maxCommandMs, type ApiKey, type KeyCommand, type KeyDecisions, type KeyOutcome, type Scope } from '#model';
import { apiKeys, keyCommands, keyDecisions } from '#topics';
import { CLOCK, type Clock } from './clock.js';
import { newKey, type NewKey } from './keyring.js';

/**
 * Makes and deletes keys: appends a command to the log, and waits until the one process that decides (`KeyDecider`) has done so, and what
 * it made of the keys is known here. Where that takes longer than 5 seconds every method rejects `log_unavailable`. A command that is not
 * decided by then never is, so that the caller may ask again; one that was decided may have had its effect.
 */
@Injectable()
export class KeyCommands {
  readonly #decisions: View<KeyDecisions>;
  readonly #keys: View<ApiKey>;

  constructor(
    @Inject(VIEWS) views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#decisions = views.open(keyDecisions);
    this.#keys = views.open(apiKeys);
  }

  /** Makes a key that works here at once. After a rejection it may exist all the same, but nobody has its secret. */
  async create(orgId: string, name: string, scopes: readonly Scope[]): Promise<NewKey> {
    const made = newKey(orgId, name, scopes, this.clock());
    await this.#carryOut(orgId, { does: 'create', keyId: made.key.keyId, key: made.key });
    return made;
  }

  /**
   * Makes this key where its organization has none, and it works here at once; false where there is another one. Of several callers at the
   * same time one is told true. After a rejection the same key may be asked for again: it is made once.
   */
  async createFirst(key: ApiKey): Promise<boolean> {
    return (await this.#carryOut(key.orgId, { does: 'create_first', keyId: key.keyId, key })) === 'created';
  }

  /** Ends a key; false when the organization has no such key. After a rejection the key may be gone all the same. */
  async delete(orgId: string, keyId: string): Promise<boolean> {
    return (await this.#carryOut(orgId, { does: 'delete', keyId, key: null })) === 'deleted';
  }

  async #carryOut(orgId: string, what: Pick<KeyCommand, 'does' | 'keyId' | 'key'>): Promise<KeyOutcome> {
    const endMs = performance.now() + maxCommandMs;
    const command = { orgId, id: randomUUID(), askedMs: this.clock(), ...what } as KeyCommand;
    const find = (state: KeyDecisions | undefined): KeyOutcome | undefined => state?.decided.find(({ id }) => id === command.id)?.outcome;
    // The 5 seconds include the append, which may take long itself.
    const [decisions] = await Promise.all([
      this.#decisions.until(orgId, (state) => find(state) !== undefined, maxCommandMs),
      this.log.append([entry(keyCommands, command)]),
    ]);
    const outcome = find(decisions)!;
    const isRefused = outcome === 'has_keys' || outcome === 'unknown_key';
    if (!isRefused) await this.#keys.until(what.keyId, (key) => (key === undefined) === (outcome === 'deleted'), endMs - performance.now());
    return outcome;
  }
}
