import { describe, expect, it } from '@jest/globals';
import { patternOf, roleOf, routes } from './roles.js';

describe('a path of the table', () => {
  it.each([
    ['/ingest', '^/ingest$'],
    ['/v1/*', '^/v1/'],
    ['/*', '^/'],
    ['/v1/sources/*/commands', '^/v1/sources/[^/]+/commands$'],
    ['/v1/sources/*/*/stream', '^/v1/sources/[^/]+/[^/]+/stream$'],
  ])('%s is %s', (path, pattern) => {
    expect(patternOf(path)).toBe(pattern);
  });

  it('has nothing that a regular expression reads otherwise, and the last one fits everything', () => {
    expect(routes.filter(({ path }) => !/^(\/[\w-]+|\/\*)+$/.test(path))).toEqual([]);
    expect(routes.at(-1)!.path).toBe('/*');
  });
});

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
    ['/ws/device', 'gateway'],
    ['/ws/device?source_id=a', 'gateway'],
    ['/ws/device/', 'control'],
    ['/ws/devices', 'control'],
    ['/v1/sources/a/commands', 'gateway'],
    ['/v1/sources/a%3Ab/command%73', 'gateway'],
    ['/v1/sources/a%2Fb/commands', 'gateway'],
    ['http://example.com/v1/sources/a/commands?x=/', 'gateway'],
    ['/v1/sources/a/b/commands', 'query'],
    ['/v1/sources//commands', 'query'],
    ['/v1/sources/commands', 'query'],
    ['/v1/sources/a/commands/', 'query'],
    ['/v1/sources/a/metrics/stream?metrics=a', 'gateway'],
    ['/v1/sources/a/logs/stream', 'gateway'],
    ['/v1/sources/a/stream', 'query'],
    ['/v1/sources/a/b/c/stream', 'query'],
    ['/v1/devices/a/metrics/stream', 'query'],
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
