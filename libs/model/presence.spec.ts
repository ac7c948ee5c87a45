import { describe, expect, it } from '@jest/globals';
import { newestConnection } from './presence.js';

const connection = (connectionId: string, connectedMs: number, gatewayId = 'alive') => ({
  orgId: 'o',
  sourceId: 's',
  connectionId,
  gatewayId,
  connectedMs,
});
const quietMs = (gatewayId: string): number => ({ alive: 19_999, gone: 20_000 })[gatewayId] ?? Infinity;

describe('the newest connection', () => {
  it.each([
    ['of none', [], undefined],
    ['of one', [connection('a', 1)], 'a'],
    ['is the last to connect', [connection('a', 2), connection('b', 1)], 'a'],
    ['is the greatest id of one time', [connection('a', 1), connection('c', 1), connection('b', 1)], 'c'],
    ['has a gateway that was heard within 20 s', [connection('a', 1), connection('b', 2, 'gone')], 'a'],
    ['has a gateway that was ever heard', [connection('a', 1, 'unheard')], undefined],
  ])('%s', (_, connections, newest) => {
    expect(newestConnection(connections, quietMs)?.connectionId).toBe(newest);
  });
});
