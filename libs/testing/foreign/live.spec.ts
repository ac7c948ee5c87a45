import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { itIf } from '../api/stage.js';
import { EmbeddedDeployment } from '../embedded-deployment.js';
import { chromium, Page } from './chromium.js';
import { hasPython, interpreter } from './python.js';

const at = 1_769_860_800_000;
const folder = 'libs/testing/foreign';

describe('WebSockets and streams, for clients that are not ours', () => {
  let deployment: EmbeddedDeployment;
  beforeAll(async () => {
    deployment = await EmbeddedDeployment.start();
  });
  afterAll(() => deployment.stop());

  itIf(hasPython)(
    'a device and readers with websockets of Python',
    async () => {
      const python = await interpreter(resolve(folder, 'live-requirements.txt'));
      const { api } = deployment.urls;
      const { stdout } = await promisify(execFile)(python, [resolve(folder, 'live.py'), api, deployment.keys.own, 'python']);
      const { login, acks, receipt, command, points, events } = JSON.parse(stdout) as Record<string, unknown>;
      expect(login).toEqual({ type: 'authenticated', source_id: 'python', server_time_ms: expect.any(Number), acks: true });
      expect(acks).toContainEqual({ type: 'telemetry_ack', seq: 4 });
      expect(receipt).toEqual({ queued: true, id: expect.any(String) });
      const { id } = receipt as { id: string };
      expect(command).toEqual({ type: 'typed_command', id, command: 'calibrate', params: { offset: 0.25 } });
      expect(points).toEqual(
        [1, 2, 3].map((n) => ({ source_id: 'python', class: 'metric', metric: 'm', value: n / 2, timestamp: at + n })),
      );
      const event = { type: 'event', source_id: 'python', class: 'event', cursor: expect.any(String) };
      const outcome = { ...event, metric: 'command.result', timestamp: expect.any(Number) };
      expect(events).toEqual([
        { ...event, metric: 'e', value: { a: null }, timestamp: at },
        { ...outcome, value: { id, command: 'calibrate', event: 'ack' } },
        { ...outcome, value: { id, command: 'calibrate', event: 'result', result: [1, 'é'] } },
      ]);
    },
    180_000,
  );

  itIf(chromium !== undefined)(
    'a page in a browser, with fetch and WebSocket (needs Chromium)',
    async () => {
      // A page of the same origin: those of others are kept away from what needs a key.
      const page = await Page.open(`${deployment.urls.api}/errors/invalid_key`);
      try {
        const script = readFileSync(resolve(folder, 'live-page.js'), 'utf8');
        const [, text] = /^export default ([^]*);\s*$/m.exec(script)!;
        const got = await page.run(text!, { apiKey: deployment.keys.own, source: 'page' });
        const named = (of: string, metric: string): object => ({ source_id: 'page', class: of, metric, timestamp: at });
        expect(got).toEqual({
          statuses: [200, 200],
          mediaType: 'text/event-stream',
          messages: [{ type: 'telemetry', points: [{ ...named('metric', 'm'), value: 21.5 }], cursor: expect.any(String) }],
          events: [{ type: 'event', ...named('event', 'e'), value: { opened: ['north', null] } }],
        });
      } finally {
        await page.close();
      }
    },
    120_000,
  );
});
