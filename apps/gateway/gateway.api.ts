import type { Operation } from '#edge';
import { commandOperations } from './commands/commands.api.js';

/** Connections. */
export const gatewayOperations: readonly Operation[] = commandOperations;
