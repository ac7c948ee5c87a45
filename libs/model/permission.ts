import type { Scope } from './organization.js';
import type { PersonRole } from './people.js';

/**
 * What may be done in an organization, and who may: a key by its scopes, and a person by the role. Where no scope is needed, `enforced` is
 * needed in an organization that has its scopes enforced.
 */
export const permissions = {
  read: { scope: null, enforced: 'read', roles: ['owner', 'member', 'viewer'] },
  monitors: { scope: null, enforced: 'write', roles: ['owner', 'member'] },
  keys: { scope: 'admin', roles: ['owner', 'member'] },
  // A key that manages keys does all that keys may, and one of the operator's organization is the operator.
  admin_keys: { scope: 'admin', roles: ['owner'] },
  targets: { scope: 'admin', roles: ['owner', 'member'] },
  audit: { scope: 'admin', roles: ['owner', 'member'] },
  // No key: it is no person who could.
  leave: { scope: 'none', roles: ['owner', 'member', 'viewer'] },
  // No key: whoever may make keys could take the organization over.
  people: { scope: 'none', roles: ['owner'] },
  // Of keys only those of the operator's own organization.
  organization: { scope: 'admin', roles: ['owner'] },
} as const satisfies Readonly<Record<string, Rule>>;

interface Rule {
  readonly scope: Scope | 'none' | null;
  readonly enforced?: 'read' | 'write';
  readonly roles: readonly PersonRole[];
}

export type Permission = keyof typeof permissions;

/** Which scope a key needs; null for any key, and `none` where no key will do. */
export const scopeFor = (permission: Permission): Scope | 'none' | null => permissions[permission].scope;

/** Which scope a key needs where its organization has scopes enforced; undefined where `scopeFor` says all. */
export const enforcedFor = (permission: Permission): 'read' | 'write' | undefined => (permissions[permission] as Rule).enforced;

export const mayAs = (role: PersonRole, permission: Permission): boolean =>
  (permissions[permission].roles as readonly PersonRole[]).includes(role);
