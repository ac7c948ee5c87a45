import { Inject, Injectable } from '@nestjs/common';
import { maxKeys, TelemetryError, type Actor, type ApiKey, type KeyCommand, type KeyOutcome } from '#model';
import { keysArea } from './areas/index.js';
import { CLOCK, type Clock } from './clock.js';
import { Commands, type Asking } from './commands.js';
import { newKey, type NewKey, type WantedKey } from './keyring.js';

/** The person at the command line, and the first start. */
export const operator: Actor = { id: 'operator', name: 'operator' };

/** Makes and deletes keys. Every method rejects as `Commands.carryOut` does. */
@Injectable()
export class KeyCommands {
  constructor(
    private readonly commands: Commands,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Makes a key that works here at once. After a rejection it may exist all the same, but nobody has its secret. Rejects `too_many_keys`. */
  async create(orgId: string, wanted: Omit<WantedKey, 'createdBy'>, by: Actor): Promise<NewKey> {
    const made = newKey(orgId, { ...wanted, createdBy: by.id }, this.clock());
    const word = await this.#carryOut(orgId, by, { does: 'create', keyId: made.key.keyId, key: made.key });
    if (word === 'has_keys')
      throw new TelemetryError('too_many_keys', `Delete keys first: an organization has at most ${maxKeys.toLocaleString('en')}.`);
    return made;
  }

  /**
   * Makes this key for the operator where its organization has none, and it works here at once; false where there is another one. Of several
   * callers at the same time one is told true. After a rejection the same key may be asked for again: it is made once.
   */
  async createFirst(key: ApiKey): Promise<boolean> {
    return (await this.#carryOut(key.orgId, operator, { does: 'create_first', keyId: key.keyId, key })) === 'created';
  }

  /** Ends a key; false when the organization has no such key. After a rejection the key may be gone all the same. */
  async delete(orgId: string, keyId: string, by: Actor): Promise<boolean> {
    return (await this.#carryOut(orgId, by, { does: 'delete', keyId, key: null })) === 'deleted';
  }

  async #carryOut(orgId: string, by: Actor, what: Pick<KeyCommand, 'does' | 'keyId' | 'key'>): Promise<KeyOutcome> {
    const { word } = await this.commands.carryOut(keysArea, { orgId, by, ...what } as Asking<KeyCommand>);
    return word;
  }
}
