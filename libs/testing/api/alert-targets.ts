import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { eventually } from '../eventually.js';
import type { ApiClient } from '../http/client.js';
import type { Answer } from '../http/send.js';
import { Receiver } from '../receiver.js';
import { watched } from './monitors.js';
import { bytesOf, itIf, itWith, known, problem, type Section } from './stage.js';

const json = { 'content-type': 'application/json' };
const elsewhere = 'https://hooks.invalid/0123456789abcdef';

interface TargetJson {
  readonly id: string;
  readonly to: string;
  readonly secret: string;
}
interface AttemptJson {
  readonly target_id: string;
  readonly delivery_id: string;
  readonly outcome: string;
  readonly transitions: number;
}

const ask = (client: ApiClient, method: string, path: string, body?: unknown): Promise<Answer> =>
  client.askApp({ method, path: `/api${path}`, ...(body !== undefined && { headers: json, body: JSON.stringify(body) }) });
const read = ({ text }: Pick<Answer, 'text'>): unknown => JSON.parse(text);
const targetsOf = async (client: ApiClient): Promise<readonly TargetJson[]> =>
  read(await ask(client, 'GET', '/alert-targets')) as readonly TargetJson[];
const attemptsAt = async (client: ApiClient, id: string): Promise<readonly AttemptJson[]> =>
  (read(await ask(client, 'GET', '/deliveries')) as readonly AttemptJson[]).filter(({ target_id: one }) => one === id);

/** A server that runs elsewhere does not reach a receiver of this test. */
const itHere = itIf(process.env['API_URL'] === undefined);

export const alertTargets: Section = (stage) => {
  const made = async (body: object, client = stage().own): Promise<TargetJson> => {
    const answer = await ask(client, 'POST', '/alert-targets', body);
    expect([answer.status, answer.text]).toEqual([201, expect.stringContaining('"id"')]);
    const target = read(answer) as TargetJson;
    await known(async () => expect((await targetsOf(client)).map(({ id }) => id)).toContain(target.id));
    return target;
  };
  const end = (...targets: readonly TargetJson[]): Promise<unknown> =>
    Promise.all(targets.map(({ id }) => ask(stage().own, 'DELETE', `/alert-targets/${id}`)));

  describe('decisions §7: a target of alerts', () => {
    it('is made, listed without what is secret, changed, paused and deleted', async () => {
      const { own } = stage();
      const { secret, ...target } = await made({ kind: 'webhook', name: 'ops', url: elsewhere });
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/=]{32}$/);
      const expected = { id: expect.stringMatching(/^target_/), kind: 'webhook', name: 'ops', to: 'https://hooks.invalid/…cdef' };
      expect(target).toEqual({
        ...expected,
        min_severity: 'info',
        paused: null,
        created_ms: expect.any(Number),
        former_secret_until_ms: null,
      });
      const { id } = target;
      const listed = await ask(own, 'GET', '/alert-targets');
      expect((read(listed) as TargetJson[]).find((one) => one.id === id)).toEqual(target);
      expect(listed.text).not.toMatch(/whsec_|0123456789abcdef/);
      const change = { name: 'night', url: `${elsewhere}0`, min_severity: 'critical', paused: true };
      const changed = await ask(own, 'PATCH', `/alert-targets/${id}`, change);
      const { url: _, ...shown } = change;
      expect([changed.status, read(changed)]).toEqual([200, { ...target, ...shown, to: 'https://hooks.invalid/…def0', paused: 'asked' }]);
      await known(async () => expect((await targetsOf(own)).find((one) => one.id === id)).toEqual(read(changed)));
      expect(read(await ask(own, 'PATCH', `/alert-targets/${id}`, { paused: false }))).toMatchObject({ name: 'night', paused: null });
      expect(await ask(own, 'DELETE', `/alert-targets/${id}`)).toMatchObject({ status: 204, text: '' });
      await known(async () => expect((await targetsOf(own)).map((one) => one.id)).not.toContain(id));
      problem(await ask(own, 'DELETE', `/alert-targets/${id}`), 404, 'unknown_alert_target');
      problem(await ask(own, 'PATCH', `/alert-targets/${id}`, {}), 404, 'unknown_alert_target');
      problem(await ask(own, 'POST', `/alert-targets/${id}/test`), 404, 'unknown_alert_target');
    });

    it.each([
      [{ kind: 'webhook' }, '/url'],
      [{ kind: 'fax', url: elsewhere }, '/kind'],
      [{ kind: 'webhook', url: 'ftp://example.com' }, '/url'],
      [{ kind: 'slack', url: 'https://me:secret@example.com/' }, '/url'],
      [{ kind: 'ntfy', url: 'https://ntfy.sh/' }, '/url'],
      [{ kind: 'email', email: 'a@b.example, c@d.example' }, '/email'],
      [{ kind: 'email', url: elsewhere }, '/email'],
      [{ kind: 'webhook', url: elsewhere, name: 'a\nb' }, '/name'],
      [{ kind: 'webhook', url: elsewhere, min_severity: 'loud' }, '/min_severity'],
    ])('%j is refused', async (body, pointer) => {
      const { errors } = problem(await ask(stage().own, 'POST', '/alert-targets', body), 400, 'invalid_body');
      expect(errors?.map((one) => one.pointer)).toEqual([pointer]);
    });

    it.each([
      'http://127.0.0.2/',
      'http://10.0.0.1/',
      'http://169.254.169.254/latest/meta-data/',
      'http://[::1]/',
      'http://[::ffff:10.0.0.1]/',
      'http://0x7f.2/',
      'http://0/',
    ])('at %s is refused, also by a change', async (url) => {
      const { own } = stage();
      problem(await ask(own, 'POST', '/alert-targets', { kind: 'webhook', url }), 400, 'target_not_allowed');
      const target = await made({ kind: 'slack', url: elsewhere });
      problem(await ask(own, 'PATCH', `/alert-targets/${target.id}`, { url }), 400, 'target_not_allowed');
      await end(target);
    });

    itWith('OTHER_API_KEY')('is nothing to another organization', async () => {
      const { own, other } = stage();
      const target = await made({ kind: 'webhook', url: elsewhere, name: stage().run });
      for (const [method, path, body] of [
        ['PATCH', '', { name: 'mine' }],
        ['POST', '/test', undefined],
        ['POST', '/rotate-secret', undefined],
        ['DELETE', '', undefined],
      ] as const) {
        const [hidden, nobodys] = await Promise.all(
          [target.id, 'target_none'].map((id) => ask(other, method, `/alert-targets/${id}${path}`, body)),
        );
        expect(bytesOf(hidden!)).toEqual(bytesOf(nobodys!));
        problem(hidden!, 404, 'unknown_alert_target');
      }
      expect((await ask(other, 'GET', '/alert-targets')).text).not.toContain(stage().run);
      expect((await ask(other, 'GET', '/deliveries')).text).not.toContain(target.id);
      expect((await targetsOf(own)).map(({ id }) => id)).toContain(target.id);
      await end(target);
    });

    it('has another secret when somebody asks, if it is a webhook', async () => {
      const { own } = stage();
      const [webhook, chat] = await Promise.all([made({ kind: 'webhook', url: elsewhere }), made({ kind: 'slack', url: elsewhere })]);
      const [first, second] = [
        await ask(own, 'POST', `/alert-targets/${webhook.id}/rotate-secret`),
        await ask(own, 'POST', `/alert-targets/${webhook.id}/rotate-secret`),
      ].map((answer) => {
        expect(answer.status).toBe(200);
        return read(answer) as TargetJson;
      }) as [TargetJson, TargetJson];
      expect(first).toEqual({ ...webhook, secret: expect.stringMatching(/^whsec_/), former_secret_until_ms: expect.any(Number) });
      expect(new Set([webhook, first, second].map(({ secret }) => secret)).size).toBe(3);
      problem(await ask(own, 'POST', `/alert-targets/${chat.id}/rotate-secret`), 400, 'unsigned_alert_target');
      const { entries } = read(await ask(own, 'GET', '/audit')) as { readonly entries: readonly { readonly about: string }[] };
      expect(entries.find(({ about }) => about === webhook.id)).toMatchObject({ did: 'target.rotated' });
      await end(webhook, chat);
      problem(await ask(own, 'POST', `/alert-targets/${webhook.id}/rotate-secret`), 404, 'unknown_alert_target');
    });

    it('needs the scope admin', async () => {
      const writer = stage().client((await stage().newKey(['read', 'write'])).api_key);
      problem(await ask(writer, 'GET', '/alert-targets'), 403, 'missing_scope');
      problem(await ask(writer, 'POST', '/alert-targets', { kind: 'webhook', url: elsewhere }), 403, 'missing_scope');
      problem(await ask(writer, 'GET', '/deliveries'), 403, 'missing_scope');
    });
  });

  describe('what is told to a target', () => {
    let receiver: Receiver;
    beforeAll(async () => {
      receiver = await Receiver.open();
    });
    afterAll(() => receiver.close());

    itHere(
      'is each transition once, signed, and each attempt is listed',
      async () => {
        const { own } = stage();
        const target = await made({ kind: 'webhook', url: `${receiver.url}/hook` });
        const source = stage().id('told');
        await own.accepted({ source_id: source, points: [{ metric: 'heat', value: 1 }] });
        await stage().caughtUp(source);
        const { id: monitorId } = await watched(own, { source_id: source, metric: 'heat', threshold: { max: 80, message: 'Too hot' } });
        const secrets = [target.secret];
        for (const value of [91, 20]) {
          if (value === 20) {
            const rotated = await ask(own, 'POST', `/alert-targets/${target.id}/rotate-secret`);
            secrets.push((read(rotated) as TargetJson).secret);
          }
          const before = receiver.received.length;
          await own.accepted({ source_id: source, points: [{ metric: 'heat', value }] });
          await known(async () => expect(receiver.received).toHaveLength(before + 1));
        }
        const told = receiver.received.map(({ body, headers }, at) => {
          for (const secret of secrets.slice(0, at + 1))
            expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual(JSON.parse(body));
          return JSON.parse(body) as Record<string, unknown>;
        });
        const alert = { monitor_id: monitorId, source_id: source, metric: 'heat', threshold: { max: 80 }, message: 'Too hot' };
        expect(told).toMatchObject([
          { type: 'alert.triggered', ...alert, value: 91, resolved_at_ms: null },
          { type: 'alert.resolved', ...alert, value: 20, resolved_by: 'inside' },
        ]);
        await known(async () => {
          const attempts = await attemptsAt(own, target.id);
          expect(attempts).toHaveLength(2);
          for (const one of attempts) expect(one).toMatchObject({ outcome: 'delivered', status: 200, transitions: 1, test: false });
          const ids = attempts.map(({ delivery_id: id }) => id).toReversed();
          expect(ids).toEqual(receiver.received.map(({ headers }) => headers['webhook-id']));
        });
        await end(target);
        await known(async () => expect(await attemptsAt(own, target.id)).toEqual([]));
      },
      60_000,
    );

    itHere(
      'is not told again where it is refused for good, and nothing more where the target is gone',
      async () => {
        const { own } = stage();
        const target = await made({ kind: 'webhook', url: `${receiver.url}/gone`, name: stage().run });
        const source = stage().id('gone');
        await own.accepted({ source_id: source, points: [{ metric: 'heat', value: 1 }] });
        await stage().caughtUp(source);
        await watched(own, { source_id: source, metric: 'heat', threshold: { max: 80 } });
        receiver.received.length = 0;
        receiver.behaviour = (_, response) => void response.writeHead(receiver.received.length === 1 ? 422 : 410).end();
        for (const [value, count] of [
          [91, 1],
          [20, 2],
        ] as const) {
          await own.accepted({ source_id: source, points: [{ metric: 'heat', value }] });
          await known(async () => expect(await attemptsAt(own, target.id)).toHaveLength(count));
        }
        expect(await attemptsAt(own, target.id)).toMatchObject([
          { outcome: 'gone', status: 410, error: 'The target answered 410.', again_ms: null },
          { outcome: 'refused', status: 422, error: 'The target answered 422.', again_ms: null },
        ]);
        await known(async () => expect((await targetsOf(own)).find(({ id }) => id === target.id)).toMatchObject({ paused: 'gone' }));
        const text = `${stage().run} (${receiver.url}/…): it answers that it is gone`;
        await known(async () => {
          const { entries } = read(await ask(own, 'GET', '/audit')) as { readonly entries: readonly { readonly about: string }[] };
          expect(entries.find(({ about }) => about === target.id)).toMatchObject({ did: 'target.given_up', text });
        });
        receiver.behaviour = (_, response) => void response.end();
        await end(target);
      },
      60_000,
    );

    itHere(
      'is a sample, when somebody asks for that, and what it answers is answered',
      async () => {
        const { own } = stage();
        const target = await made({ kind: 'slack', url: `${receiver.url}/slack` });
        receiver.behaviour = (_, response) => void response.writeHead(404).end('channel_not_found');
        const answer = await ask(own, 'POST', `/alert-targets/${target.id}/test`);
        const expected = { outcome: 'failed', status: 404, test: true, error: 'The target answered 404: channel_not_found' };
        expect([answer.status, read(answer)]).toMatchObject([200, expected]);
        const { path, body } = receiver.received.at(-1)!;
        expect([path, read({ text: body })]).toMatchObject(['/slack', { text: expect.stringContaining('Test:') }]);
        await known(async () => expect(await attemptsAt(own, target.id)).toMatchObject([expected]));
        expect(problem(await ask(own, 'POST', `/alert-targets/${target.id}/test`), 429, 'over_rate').detail).toMatch(/5 seconds/);
        await end(target);
      },
      60_000,
    );

    itHere(
      'is one sample for all who ask while it is under way',
      async () => {
        const [target, other] = [
          await made({ kind: 'slack', url: `${receiver.url}/slow` }),
          await made({ kind: 'slack', url: receiver.url }),
        ];
        const test = ({ id }: TargetJson): Promise<Answer> => ask(stage().own, 'POST', `/alert-targets/${id}/test`);
        const held: ServerResponse[] = [];
        receiver.behaviour = ({ path }, response) => void (path === '/slow' ? held.push(response) : response.end());
        const asked = [test(target), test(target)] as const;
        await eventually(() => expect(held).toHaveLength(1));
        // What was asked before this has been taken from the log when it is answered.
        expect(await test(other)).toMatchObject({ status: 200 });
        for (const response of held) response.end();
        const [one, same] = await Promise.all(asked);
        expect([one.status, same.status, same.text, held.length]).toEqual([200, 200, one.text, 1]);
        receiver.behaviour = (_, response) => void response.end();
        await end(target, other);
      },
      60_000,
    );
  });
};
