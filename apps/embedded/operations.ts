// Written by `npm run roles` from the table of roles.
import type { Operation } from '#edge';
import { ingressOperations } from '../ingress/ingress.api.js';
import { gatewayOperations } from '../gateway/gateway.api.js';
import { queryOperations } from '../query/query.api.js';
import { controlOperations } from '../control/control.api.js';

/** What each role answers, by the file that says it. */
export const operationsOfRoles: Readonly<Record<string, readonly Operation[]>> = {
  'apps/ingress/ingress.api.ts': ingressOperations,
  'apps/gateway/gateway.api.ts': gatewayOperations,
  'apps/query/query.api.ts': queryOperations,
  'apps/control/control.api.ts': controlOperations,
};
