import type { Operation } from '#edge';

/** Connections. */
export const gatewayOperations: readonly Operation[] = [];
