export { maxWaitingMs, OpenIdProvider, type ProviderOptions } from './open-id-provider.js';
export { maxAttemptMs, Outbound, type OutboundOptions } from './outbound.js';
