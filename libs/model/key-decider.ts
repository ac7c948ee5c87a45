import { flawOfRights } from './bound-sources.js';
import type { Decider } from './decider.js';
import type { Asked } from './once.js';
import type { ApiKey } from './organization.js';

/** Asks to make or to delete a key of one organization. */
export type KeyCommand = Asked & {
  readonly keyId: string;
} & (
    | {
        /** `create_first` makes a key where there is none. */
        readonly does: 'create' | 'create_first';
        readonly key: ApiKey;
      }
    | { readonly does: 'delete'; readonly key: null }
  );

/** What became of a command; the last two are refusals. */
export type KeyOutcome = 'created' | 'deleted' | 'has_keys' | 'unknown_key';

export interface KeyState {
  /** By their ids. */
  readonly keys: ReadonlyMap<string, ApiKey>;
}

export interface KeyEvent {
  readonly outcome: KeyOutcome;
  readonly keyId: string;
  /** The key that is made, or the one that ends; undefined for a refusal. */
  readonly key: ApiKey | undefined;
}

/** Which keys an organization may be given and lose. */
export const keyDecider: Decider<KeyState, KeyCommand, KeyEvent> = {
  initial: { keys: new Map() },

  decide: (state, command) => [outcomeOf(state, command)],

  evolve(state, { outcome, keyId, key }) {
    const keys = new Map(state.keys);
    if (outcome === 'created') keys.set(keyId, key!);
    if (outcome === 'deleted') keys.delete(keyId);
    return { keys };
  },
};

function outcomeOf({ keys }: KeyState, { does, keyId, key }: KeyCommand): KeyEvent {
  const known = keys.get(keyId);
  if (does === 'delete') return { outcome: known ? 'deleted' : 'unknown_key', keyId, key: known };
  // The same key under a new command: its sender has not heard of the first one.
  if (does === 'create_first' && keys.size > 0 && !known) return { outcome: 'has_keys', keyId, key: undefined };
  return { outcome: 'created', keyId, key };
}

/** What a command says that makes no sense, in words; undefined when there is nothing. */
export function flawOfKeyCommand({ orgId, keyId, does, key }: KeyCommand): string | undefined {
  if ((does === 'delete') !== (key === null)) return 'a command holds the key that it makes, and one to delete holds none';
  if (!key) return undefined;
  if (key.orgId !== orgId || key.keyId !== keyId) return 'a command holds another key than it names';
  return flawOfRights(key.scopes, key.sources);
}
