import type { BoundSources, SourceRange } from './bound-sources.js';
import type { Scope } from './organization.js';
import type { PersonRole } from './people.js';

/** Who makes a request in an organization: what a valid key says of its bearer, or who has signed in. */
export interface Caller {
  readonly orgId: string;
  /** Id of the key; of the account, where somebody has signed in. */
  readonly keyId: string;
  /** Of a key; a person has none, but a role. */
  readonly scopes: readonly Scope[];
  /** Undefined for every source. */
  readonly bound?: BoundSources | undefined;
  /** Undefined for a key. */
  readonly person?: Member | undefined;
}

/** Somebody who has signed in. */
export interface Person {
  readonly accountId: string;
  readonly email: string;
  readonly sessionId: string;
}

/** A person as one of an organization. */
export interface Member extends Person {
  readonly role: PersonRole;
}

const everything: readonly SourceRange[] = [{ text: '', isPrefix: true }];

/** Where the sources of the caller are, in order. */
export const rangesOf = ({ bound }: Caller): readonly SourceRange[] => bound?.ranges ?? everything;

/** No source can have this id. */
export const nobodysSource = '-';

export const mayUse = ({ bound }: Caller, sourceId: string): boolean => bound === undefined || bound.has(sourceId);

/** The source that a reader asks for. In place of one that the caller may not use stands one that nobody has, so that the answer is the same. */
export const visibleSource = (caller: Caller | undefined, sourceId: string): string =>
  caller && !mayUse(caller, sourceId) ? nobodysSource : sourceId;
