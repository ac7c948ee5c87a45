import { describe, expect, it } from '@jest/globals';
import { roleOf } from './routes.js';

describe('which role answers', () => {
  it.each([
    ['/ingest', 'ingress'],
    ['/ingest?x=1', 'ingress'],
    ['/%69ngest', 'ingress'],
    ['http://example.com/ingest', 'ingress'],
    ['/ingest/', 'control'],
    ['/ingestion', 'control'],
    ['/v1/sources', 'query'],
    ['/v1/sources/a%2Fb/metrics?last=1h', 'query'],
    ['/v1/devices', 'query'],
    ['/v1/%', 'query'],
    ['http://example.com/v1/devices?a=/ingest', 'query'],
    ['/v1', 'control'],
    ['/v1x/sources', 'control'],
    ['/api/api-keys', 'control'],
    ['/openapi.json', 'control'],
    ['/health/ready', 'control'],
    ['/', 'control'],
    ['//v1/sources', 'control'],
    ['*', 'control'],
    ['', 'control'],
  ])('%j: %s', (target, role) => {
    expect(roleOf(target)).toBe(role);
  });
});
