import type { FrontRole } from './routes.js';

export type Role = FrontRole | 'processors';

/** What a role needs of the stores: nothing, to read what readers shall see, or to keep every generation up to date too. */
export const storesOf: Readonly<Record<Role, 'none' | 'read' | 'write'>> = {
  ingress: 'none',
  query: 'read',
  processors: 'write',
  control: 'none',
};

export const roles = Object.keys(storesOf) as readonly Role[];
