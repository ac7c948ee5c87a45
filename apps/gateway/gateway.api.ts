import type { Operation } from '#edge';
import { commandOperations } from './commands/commands.api.js';
import { streamOperations } from './streams/streams.api.js';

/** Connections. */
export const gatewayOperations: readonly Operation[] = [...commandOperations, ...streamOperations];
