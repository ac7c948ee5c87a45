import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Headwater } from '#client';
import { EmbeddedDeployment, eventually } from '#testing';
import { exportAll } from './export-all.js';
import { Io } from './io.js';
import { newFolder, run } from './test-run.js';

const timestamp = Date.parse('2026-01-31T06:00:00.000Z');
const points = [{ metric: 'heat', timestamp, value: 1 }];

describe('what an organization has, before it is deleted', () => {
  let deployment: EmbeddedDeployment;
  let orgId: string;
  let bound: string;
  const reader = (apiKey: string): Headwater => new Headwater({ url: deployment.urls.api, apiKey });
  beforeAll(async () => {
    deployment = await EmbeddedDeployment.start();
    const headwater = reader(deployment.keys.own);
    for (const source_id of ['fan-1', 'press-1']) await headwater.ingest({ source_id, points });
    orgId = (await headwater.keys.verify()).org_id;
    bound = (await headwater.keys.create({ name: 'presses', scopes: ['read'], sources: ['press-*'] })).api_key;
    await eventually(() => reader(bound).keys.verify());
    await deployment.settle();
  });
  afterAll(() => deployment.stop());

  const write = (apiKey: string, file: string): Promise<void> =>
    exportAll({ flags: { url: deployment.urls.api, apiKey }, file, orgId }, new Io());

  it('is written with a key for every source, to a new file', async () => {
    const file = join(newFolder(), 'all.ndjson');
    await write(deployment.keys.own, file);
    const bodies = ['fan-1', 'press-1'].map((source_id) => `${JSON.stringify({ source_id, points })}\n`);
    expect(readFileSync(file, 'utf8')).toBe(bodies.join(''));
    await expect(write(deployment.keys.own, file)).rejects.toThrow('EEXIST');
  });

  it.each([
    ['for some sources only', () => bound, 'The key is for some sources only (press-*)'],
    ['of another organization', () => deployment.keys.other, 'The key is of the organization'],
  ])('is not written with a key %s', async (_, key, said) => {
    const file = join(newFolder(), 'all.ndjson');
    await expect(write(key(), file)).rejects.toThrow(said);
    expect(existsSync(file)).toBe(false);
  });

  it('is said not to be all where the key is for some sources only', async () => {
    const { code, stdout, stderr } = await run(['export', '--all', '--url', deployment.urls.api, '--api-key', bound]);
    expect([code, stdout]).toEqual([0, `${JSON.stringify({ source_id: 'press-1', points })}\n`]);
    expect(stderr).toContain('The key is for some sources only: press-*.');
  });
});
