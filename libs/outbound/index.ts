export { maxAttemptMs, Outbound, type OutboundOptions } from './outbound.js';
