export { authorizationOf, type Credentials } from './authorization.js';
export { agentFor } from './agent.js';
export { checking, onceOpen, openSocket, resetSocket, type Peer, type TlsOptions } from './open-socket.js';
export { inWords, isTlsError } from './tls-errors.js';
