import { maxCommandMs, type Decider } from './decider.js';
import type { ApiKey } from './organization.js';

/** Asks to make or to delete a key of one organization. */
export type KeyCommand = {
  readonly orgId: string;
  /** Names the command: what comes again under its id is the same command. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly askedMs: number;
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

/** A command that was decided. */
export interface DecidedCommand {
  readonly id: string;
  readonly askedMs: number;
  readonly outcome: KeyOutcome;
}

/** What was decided of late about the keys of one organization: all that might come again. */
export interface KeyDecisions {
  readonly orgId: string;
  readonly decided: readonly DecidedCommand[];
  /** When the last command was decided: a clock that is behind makes no command younger. */
  readonly atMs: number;
}

export interface KeyState extends Omit<KeyDecisions, 'orgId'> {
  readonly keyIds: ReadonlySet<string>;
}

export interface KeyEvent {
  readonly command: KeyCommand;
  readonly outcome: KeyOutcome;
  readonly atMs: number;
}

/** Commands of one organization that are decided in `maxCommandMs`: what comes beyond them waits for too long and is never carried out. */
export const maxDecided = 1_000;

/** Which keys an organization may be given and lose. */
export const keyDecider: Decider<KeyState, KeyCommand, KeyEvent> = {
  initial: { keyIds: new Set(), decided: [], atMs: 0 },

  decide(state, command, nowMs) {
    const atMs = Math.max(nowMs, state.atMs);
    const isKnown = state.decided.some(({ id }) => id === command.id);
    if (isKnown || !isInTime(command, atMs) || recent(state, atMs).length >= maxDecided) return [];
    return [{ command, outcome: outcomeOf(state, command), atMs }];
  },

  evolve(state, { command: { id, askedMs, keyId }, outcome, atMs }) {
    const keyIds = new Set(state.keyIds);
    if (outcome === 'created') keyIds.add(keyId);
    if (outcome === 'deleted') keyIds.delete(keyId);
    return { keyIds, decided: [...recent(state, atMs), { id, askedMs, outcome }], atMs };
  },
};

function outcomeOf({ keyIds }: KeyState, { does, keyId }: KeyCommand): KeyOutcome {
  if (does === 'delete') return keyIds.has(keyId) ? 'deleted' : 'unknown_key';
  // The same key under a new command: its sender has not heard of the first one.
  return does === 'create_first' && keyIds.size > 0 && !keyIds.has(keyId) ? 'has_keys' : 'created';
}

const recent = ({ decided }: KeyState, atMs: number): readonly DecidedCommand[] => decided.filter((one) => isInTime(one, atMs));
/** A clock that is far ahead is no better than a command that has waited for long: what it asks would be remembered for long. */
const isInTime = ({ askedMs }: { readonly askedMs: number }, atMs: number): boolean => Math.abs(atMs - askedMs) < maxCommandMs;

/** What a command says that makes no sense, in words; undefined when there is nothing. */
export function flawOfKeyCommand({ orgId, keyId, does, key }: KeyCommand): string | undefined {
  if ((does === 'delete') !== (key === null)) return 'a command holds the key that it makes, and one to delete holds none';
  return key && (key.orgId !== orgId || key.keyId !== keyId) ? 'a command holds another key than it names' : undefined;
}
