import { hash, randomBytes } from 'node:crypto';
import { formatKey, keyDisplay, keyRandomBytes, type ApiKey, type Scope } from '#model';

/** A key, and its secret, which is kept nowhere: whoever makes it shows it to a person, once. */
export interface NewKey {
  readonly key: ApiKey;
  readonly secret: string;
}

/** A key that nobody has. It works once the log has it. */
export function newKey(orgId: string, name: string, scopes: readonly Scope[], createdMs: number): NewKey {
  const secret = formatKey(randomBytes(keyRandomBytes));
  const digest = sha256(secret);
  return { key: { keyId: keyIdOf(digest), orgId, name, sha256: digest, ...keyDisplay(secret), scopes, createdMs }, secret };
}

export const sha256 = (text: string): string => hash('sha256', text, 'hex');
export const keyIdOf = (digest: string): string => `key_${digest.slice(0, 24)}`;
