import { Agent, type AgentOptions, type ClientRequestArgs } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { openSocket, type TlsOptions } from './open-socket.js';

/** Opens the connections of requests to an address, so that `resetSocket` can end them. With `https:` they are encrypted. */
export function agentFor(url: string, tls: TlsOptions = {}, options: AgentOptions = {}): Agent {
  const isTls = new URL(url).protocol === 'https:';
  const agent = isTls ? new TlsAgent(options) : new Agent(options);
  agent.createConnection = ({ host, port }: ClientRequestArgs): Socket =>
    openSocket({ host: host ?? 'localhost', port: Number(port), tls: isTls ? tls : undefined });
  return agent;
}
