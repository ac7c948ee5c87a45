import { maxCommandMs, type Decider } from './decider.js';
import type { ApiKey } from './organization.js';

interface Asked {
  /** Names the command: what comes again under its id is the same command. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly askedMs: number;
}

/** A wish about the keys of one organization. */
export type KeyCommand = Asked &
  (
    | { readonly does: 'create'; readonly key: ApiKey }
    /** Makes a key where there is none. */
    | { readonly does: 'create_first'; readonly key: ApiKey }
    | { readonly does: 'delete'; readonly keyId: string }
  );

/** What became of a command, and when that was decided. */
export type KeyEvent = { readonly command: Asked; readonly atMs: number } & (
  | { readonly is: 'created'; readonly key: ApiKey }
  | { readonly is: 'deleted'; readonly keyId: string }
  | { readonly is: 'refused'; readonly why: 'has_keys' | 'unknown_key' }
);

/** What is known of the keys of one organization. */
export interface KeyState {
  readonly keyIds: ReadonlySet<string>;
  /** When each command was asked that is decided and might come again. */
  readonly decided: ReadonlyMap<string, number>;
  /** When the last one was decided: a clock that is behind makes no command younger. */
  readonly atMs: number;
}

/** Which keys an organization may be given and lose. */
export const keyDecider: Decider<KeyState, KeyCommand, KeyEvent> = {
  initial: { keyIds: new Set(), decided: new Map(), atMs: 0 },

  decide({ keyIds, decided, atMs: lastMs }, command, nowMs) {
    const { id, askedMs } = command;
    const atMs = Math.max(nowMs, lastMs);
    if (decided.has(id) || isTooOld(askedMs, atMs)) return [];
    const about = { command: { id, askedMs }, atMs };
    if (command.does === 'delete') {
      const { keyId } = command;
      return [keyIds.has(keyId) ? { ...about, is: 'deleted', keyId } : { ...about, is: 'refused', why: 'unknown_key' }];
    }
    const isTooLate = command.does === 'create_first' && keyIds.size > 0;
    return [isTooLate ? { ...about, is: 'refused', why: 'has_keys' } : { ...about, is: 'created', key: command.key }];
  },

  evolve(state, event) {
    const { command, atMs } = event;
    const keyIds = new Set(state.keyIds);
    if (event.is === 'created') keyIds.add(event.key.keyId);
    if (event.is === 'deleted') keyIds.delete(event.keyId);
    const mayComeAgain = Array.from(state.decided).filter(([, askedMs]) => !isTooOld(askedMs, atMs));
    return { keyIds, decided: new Map(mayComeAgain).set(command.id, command.askedMs), atMs };
  },
};

const isTooOld = (askedMs: number, atMs: number): boolean => atMs - askedMs >= maxCommandMs;
