import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomInt } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { describeOnKafka, serverEnvironment, until } from '#testing';
import { apiKeys, sources } from '#topics';
import { run } from '../../apps/cli/test-run.js';
import { IngressModule } from '../../apps/ingress/ingress.module.js';
import { openLog } from './adapters.js';
import { cluster } from './cluster.js';
import { readConfig } from './config.js';
import { createLogger } from './logger.js';
import { start } from './start.js';

describeOnKafka('a role whose compacted topics have records that cannot be decoded', () => {
  it('starts, says so, and is rid of them by a command', async () => {
    const env = {
      ...serverEnvironment(),
      HEADWATER_KAFKA_PREFIX: `unreadable${randomInt(1, 1_000_000)}.`,
      HEADWATER_CACHE: mkdtempSync(join(tmpdir(), 'headwater-cache-')),
      HEADWATER_PORT: '0',
      HEADWATER_ADMIN_PORT: '0',
    };
    const config = readConfig(env);
    const kafka = await openLog(config, () => undefined, 60_000);
    await kafka.log.appendBytes(apiKeys.name, 'key_a', Buffer.from('rubbish'), {});
    await kafka.log.appendBytes(apiKeys.name, 'key_b', Buffer.from('rubbish'), {});
    const role = await start(IngressModule, cluster('ingress'), config, await createLogger('silent'));
    try {
      await role.opened;
      const ready = async (): Promise<unknown> => (await fetch(`${role.url}/health/ready`)).json();
      const warnings = ['api-keys.v1: 2 records cannot be read: their keys are taken as deleted. See `headwater views list`.'];
      expect(await ready()).toEqual({ status: 'ready', reasons: [], warnings });

      const { stdout } = await run(['views', 'list'], { env });
      expect(stdout).toMatch(/^TOPIC +PARTITION +OFFSET +KEY +REASON\napi-keys\.v1 +0 +0 +key_a +the record does not begin with 0x00/);
      const removed = await run(['views', 'remove', apiKeys.name, '--all'], { env });
      expect(removed).toEqual({ code: 0, stdout: '', stderr: 'Removed 2 keys of api-keys.v1.\n' });
      await until('the role is rid of them', async () => JSON.stringify(await ready()) === '{"status":"ready","reasons":[],"warnings":[]}');
      expect((await run(['views', 'remove', sources.name, '--key', 'o/s'], { env })).code).toBe(1);
    } finally {
      await role.stop();
      await kafka.close();
    }
  });
});
