import type { Scope } from './organization.js';
import type { PersonRole } from './people.js';

/** What may be done in an organization, and who may: a key by its scopes, and a person by the role. */
export const permissions = {
  read: { scope: null, roles: ['owner', 'member', 'viewer'] },
  monitors: { scope: null, roles: ['owner', 'member'] },
  keys: { scope: 'admin', roles: ['owner', 'member'] },
  targets: { scope: 'admin', roles: ['owner', 'member'] },
  audit: { scope: 'admin', roles: ['owner', 'member'] },
  // No key: it is no person who could.
  // A key that manages keys does all that keys may, and one of the operator's organization is the operator.
  admin_keys: { scope: 'admin', roles: ['owner'] },
  leave: { scope: 'none', roles: ['owner', 'member', 'viewer'] },
  // No key: whoever may make keys could take the organization over.
  people: { scope: 'none', roles: ['owner'] },
  // Of keys only those of the operator's own organization.
  organization: { scope: 'admin', roles: ['owner'] },
} as const satisfies Readonly<Record<string, { readonly scope: Scope | 'none' | null; readonly roles: readonly PersonRole[] }>>;

export type Permission = keyof typeof permissions;

/** Which scope a key needs; null for any key, and `none` where no key will do. */
export const scopeFor = (permission: Permission): Scope | 'none' | null => permissions[permission].scope;

export const mayAs = (role: PersonRole, permission: Permission): boolean =>
  (permissions[permission].roles as readonly PersonRole[]).includes(role);
