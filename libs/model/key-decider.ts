import { flawOfRights } from './bound-sources.js';
import type { Decider } from './decider.js';
import { knownWith, type Known } from './known.js';
import type { Asked } from './once.js';
import type { ApiKey } from './organization.js';

/** Keys of one organization: every process remembers all of them. */
export const maxKeys = 10_000;

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

/**
 * What became of a command; the last two are refusals. `has_keys`: the organization has some already, where the first one is asked for, and as
 * many as it may, where another one is. One word says both, for older processes know these four.
 */
export type KeyOutcome = 'created' | 'deleted' | 'has_keys' | 'unknown_key';

export interface KeyState {
  /** By their ids. */
  readonly keys: Known<ApiKey>;
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
    if (outcome === 'created') return { keys: knownWith(state.keys, keyId, key) };
    return outcome === 'deleted' ? { keys: knownWith(state.keys, keyId, undefined) } : state;
  },
};

function outcomeOf({ keys }: KeyState, { does, keyId, key }: KeyCommand): KeyEvent {
  const known = keys.get(keyId);
  if (does === 'delete') return { outcome: known ? 'deleted' : 'unknown_key', keyId, key: known };
  // The same key under a new command: its sender has not heard of the first one.
  const most = does === 'create_first' ? 1 : maxKeys;
  if (keys.size >= most && !known) return { outcome: 'has_keys', keyId, key: undefined };
  return { outcome: 'created', keyId, key };
}

/** What a command says that makes no sense, in words; undefined when there is nothing. */
export function flawOfKeyCommand({ orgId, keyId, does, key }: KeyCommand): string | undefined {
  if ((does === 'delete') !== (key === null)) return 'a command holds the key that it makes, and one to delete holds none';
  if (!key) return undefined;
  if (key.orgId !== orgId || key.keyId !== keyId) return 'a command holds another key than it names';
  return flawOfRights(key.scopes, key.sources);
}
