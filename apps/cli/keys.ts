import { type Scope, scopes } from '#model';
import { usage } from './failure.js';

/** Scopes as typed: names with commas between. */
export function readScopes(text: string): readonly Scope[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !scopes.includes(name as Scope));
  if (unknown.length > 0) throw usage(`There is no scope "${unknown.join('", "')}": use some of ${scopes.join(',')}.`);
  return [...new Set(names as Scope[])];
}
