import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Webhook } from 'standardwebhooks';
import { entry, Runner, tombstone, type Entry, type Processor, type RecordLog } from '#log';
import {
  afterAnswer,
  afterBeginning,
  afterNotice,
  maxFailingMs,
  maxTargets,
  maxToldNamed,
  noDeliveries,
  sampleAlert,
  TelemetryError,
  type Alert,
  type AlertTarget,
  type Lease,
  type Sample,
  type TargetCommand,
  type TargetDeliveries,
} from '#model';
import { Outbound } from '#edge';
import { alertNotes, alerts, alertTargets, deliveries, notices, targetCommands, targetKey } from '#topics';
import { DeliveryDesk } from '../../apps/processors/delivery-desk.js';
import { NoticeMaker } from '../../apps/processors/notice-maker.js';
import { eventually } from './eventually.js';
import { LogReader } from './log-reader.js';
import { Receiver, type ReceivedRequest } from './receiver.js';
import { SmtpServer } from './smtp-server.js';
import type { LogUnderTest } from './record-log.contract.js';
import { withMethods } from './with-methods.js';

const t = 1_700_000_000_000;
const secret = `whsec_${Buffer.from('a secret of 24 bytes at least').toString('base64')}`;

const alert = (at: number, sourceId = 's'): Alert => ({
  ...sampleAlert(t + at),
  alertId: `alert_${at.toString(16).padStart(24, '0')}`,
  sourceId,
});
const told = (...its: readonly Alert[]): Entry => entry(alerts, { orgId: 'o', sourceId: its[0]!.sourceId, alerts: its });
const idsOf = ({ body }: ReceivedRequest): readonly string[] => {
  const { alert_id: one, triggered_ids: many = [one] } = JSON.parse(body) as { alert_id: string; triggered_ids?: string[] };
  return many;
};
const deliveryOf = ({ headers }: ReceivedRequest): string => String(headers['webhook-id']);

/**
 * What the reactors that tell targets promise, on the log of an adapter.
 *
 * @param isShort only what a log can break, with one crash: for a log on which each test takes seconds.
 */
export function deliveriesContract(open: () => Promise<LogUnderTest>, isShort = false): void {
  let subject: LogUnderTest;
  let receiver: Receiver;
  let nowMs: number;
  let runners: Runner[];
  let desk: DeliveryDesk;
  let outbound: Outbound;
  let mail: SmtpServer;
  beforeEach(async () => {
    Logger.overrideLogger(false);
    [subject, receiver, mail, nowMs, runners] = [await open(), await Receiver.open(), await SmtpServer.open(), t, []];
    outbound = outboundOf();
  });
  afterEach(async () => {
    await stop();
    await Promise.all([subject.close(), receiver.close(), mail.close()]);
  });

  const clock = (): number => nowMs;
  const outboundOf = (maxAttemptMs = 2_000): Outbound =>
    new Outbound({ networks: ['127.0.0.1'], server: mail.url, from: 'hw@example.org', clock, maxAttemptMs });
  const run = async (log: RecordLog = subject.log): Promise<void> => {
    desk = new DeliveryDesk(log, subject.views, outbound, clock);
    const processors: readonly Processor[] = [new NoticeMaker(log, subject.views, clock), desk];
    runners = processors.map((one) => new Runner(log, one, { checkpointMs: 1e6, tickMs: 1e6, clock, report: () => {} }));
    await Promise.all(runners.map((runner) => runner.start()));
  };
  const stop = async (): Promise<void> => {
    await desk?.beforeApplicationShutdown();
    await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  };
  /** Has everything in the log processed, and what is due by now begun. */
  const settle = async (): Promise<void> => {
    for (const runner of runners) await runner.caughtUp();
    for (const runner of runners) await runner.tick();
  };
  const targetOf = (targetId: string, more: Partial<AlertTarget> = {}): AlertTarget => ({
    orgId: 'o',
    targetId,
    name: '',
    kind: 'webhook',
    to: `${receiver.url}/${targetId}`,
    minSeverity: 'info',
    secret,
    formerSecret: null,
    createdMs: t,
    changedMs: t,
    paused: null,
    ...more,
  });
  const append = (...entries: Entry[]): Promise<void> => subject.log.append(entries);
  const requests = (targetId = 'a'): readonly ReceivedRequest[] => receiver.received.filter(({ path }) => path === `/${targetId}`);
  const stateOf = async (targetId = 'a', orgId = 'o'): Promise<TargetDeliveries | undefined> => {
    const view = subject.views.open(deliveries);
    await view.caughtUp();
    return view.get(targetKey({ orgId, targetId }));
  };
  const recorded = async (targetId = 'a', orgId = 'o'): Promise<readonly string[]> =>
    ((await stateOf(targetId, orgId))?.attempts ?? []).map(({ outcome }) => outcome);

  /** What operators see, by name and labels. */
  const figures = async (): Promise<Record<string, unknown>> => {
    const each = desk.metrics().map(async (metric) => {
      const figure = await metric.read();
      const samples = Array.isArray(figure) ? (figure as readonly Sample[]) : [{ labels: {}, value: figure }];
      return samples.map(({ labels, value }) => [[metric.name, ...Object.entries(labels).map((one) => one.join('='))].join(' '), value]);
    });
    return Object.fromEntries((await Promise.all(each)).flat());
  };

  /** The only one about a target. It follows the record that says why it was made. */
  const theCommand = (): Promise<TargetCommand> =>
    eventually(async () => {
      const reader = LogReader.of(subject.log, { topics: [targetCommands], from: 'beginning', to: 'end' });
      await reader.following.caughtUp();
      expect(reader.records).toHaveLength(1);
      return reader.records[0]!.value as TargetCommand;
    });

  it('tells each target once, signed, however often a crash brings the record', async () => {
    await run();
    await append(entry(alertTargets, targetOf('a')), entry(alertTargets, targetOf('b')), told(alert(1)), told(alert(1)));
    await eventually(async () => expect([await recorded('a'), await recorded('b')]).toEqual([['delivered'], ['delivered']]));
    await append(told(alert(1)), told(alert(2)));
    const twice = ['delivered', 'delivered'];
    await eventually(async () => expect([await recorded('a'), await recorded('b')]).toEqual([twice, twice]));
    for (const id of ['a', 'b']) expect(requests(id).flatMap(idsOf)).toEqual([alert(1).alertId, alert(2).alertId]);
    const [{ body, headers }] = requests() as [ReceivedRequest];
    const signed = { ...headers, 'webhook-timestamp': String(Math.floor(t / 1000)) } as unknown as Record<string, string>;
    expect(headers['webhook-signature']).toBe(new Webhook(secret).sign(signed['webhook-id']!, new Date(t), body));
  });

  it('has a target paused that fails for a day, and tells it nothing more', async () => {
    receiver.behaviour = (_, response) => void response.writeHead(500).end();
    await run();
    await append(entry(alertTargets, targetOf('a')), told(alert(1)));
    await eventually(async () => expect(await recorded()).toEqual(['failed']));
    await append(told(alert(2)));
    nowMs += maxFailingMs;
    await settle();
    await eventually(async () => expect(await recorded()).toEqual(['failed', 'given_up']));
    expect(await theCommand()).toMatchObject({ does: 'give_up', targetId: 'a', changedMs: t, askedMs: nowMs });
    expect(await stateOf()).toMatchObject({ open: null, waiting: null, attempts: [{}, { transitions: 2 }] });
    // As whoever decides does.
    await append(entry(alertTargets, targetOf('a', { paused: 'failing', changedMs: nowMs })), told(alert(3)));
    await settle();
    expect(requests()).toHaveLength(2);
    receiver.behaviour = (_, response) => void response.end();
    await append(entry(alertTargets, targetOf('a', { changedMs: nowMs + 1 })), told(alert(4)));
    await eventually(async () => expect(await recorded()).toEqual(['failed', 'given_up', 'delivered']));
    expect((await stateOf())!.failingSinceMs).toBeNull();
    expect(requests().slice(2).flatMap(idsOf)).toEqual([alert(4).alertId]);
  });

  it('lets nobody wait for targets that fail, however many, nor for what waits since before a start', async () => {
    const held: ServerResponse[] = [];
    receiver.behaviour = ({ path }, response) => void (path.startsWith('/b') ? held.push(response) : response.end());
    outbound = outboundOf(60_000);
    const place = { partition: 0, offset: 0 };
    const failing = Array.from({ length: 1000 }, (_, at) => targetOf(`b${at}`, { orgId: `p${at % 50}` }));
    const failed = { verdict: 'later', status: null, error: 'no', retryAfterMs: 0, tookMs: 1 } as const;
    const failedOf = ({ orgId, targetId }: AlertTarget): TargetDeliveries =>
      afterAnswer(afterBeginning(afterNotice(noDeliveries(orgId, targetId), place, [alert(1)]), 'd', t - 10_000), failed, t - 10_000, 0);
    const full = targetOf('full', { orgId: 'q' });
    const all = Array.from({ length: maxToldNamed }, (_, at) => alert(at + 1));
    const states = [...failing.map(failedOf), afterNotice(noDeliveries('q', 'full'), place, all)];
    await append(...[...failing, full, targetOf('a')].map((target) => entry(alertTargets, target)));
    await append(...states.map((state) => entry(deliveries, state)));
    await run();
    try {
      await settle();
      await eventually(() => expect(held.length).toBeGreaterThan(100));
      await append(told(alert(1)));
      await eventually(async () => {
        await settle();
        expect([await recorded('a'), await recorded('full', 'q')]).toEqual([['delivered'], ['delivered']]);
      });
      expect(held.map(({ writableEnded }) => writableEnded)).not.toContain(true);
    } finally {
      receiver.behaviour = (_, response) => void response.end();
      for (const response of held) response.end();
    }
  });

  describe('a crash between any two steps', () => {
    const many = (from: number, count: number): Entry[] => Array.from({ length: count }, (_, at) => told(alert(from + at, `s${at % 7}`)));
    const course: readonly (readonly Entry[])[] = [many(1, 3), many(10, 1), many(20, 30), many(60, 2)];
    const expected = course.flat().map((_, at) => (at < 3 ? 1 + at : at < 4 ? 10 : at < 34 ? 16 + at : 26 + at));

    /** Lets everything through until a number of appends are done; then nothing more, as in a process that is about to die. */
    async function courseOf(last: number): Promise<number> {
      let steps = 0;
      let isDead = false;
      const died = Promise.withResolvers<void>();
      const step = <T>(work: () => Promise<T>): Promise<T> => {
        if (++steps === last) isDead = true;
        if (!isDead) return work();
        died.resolve();
        return Promise.reject(new TelemetryError('log_unavailable', 'The process dies.'));
      };
      const mortal = withMethods(subject.log, {
        append: (entries) => step(() => subject.log.append(entries)),
        appendBytes: (...record) => step(() => subject.log.appendBytes(...record)),
        consume: async (options) => {
          const subscription = await subject.log.consume(options);
          return withMethods(subscription, { commit: (positions) => step(() => subscription.commit(positions)) });
        },
      });
      await append(entry(alertTargets, targetOf('a')), entry(alertTargets, targetOf('b')));
      await run(mortal);
      let hasRestarted = false;
      for (const [at, entries] of course.entries()) {
        await append(...entries);
        const until = course.slice(0, at + 1).flat().length;
        const isFirst = !hasRestarted;
        const work = eventually(async () => {
          // What has died works no more, least of all in a test after this one.
          if (isFirst && isDead) return;
          nowMs += 10_000;
          await settle();
          for (const id of ['a', 'b']) expect(new Set(requests(id).flatMap(idsOf)).size).toBe(until);
          if (at % 2 === 1) await Promise.all(runners.map((runner) => runner.checkpoint()));
        });
        await Promise.race([work, ...(hasRestarted ? [] : [died.promise])]);
        if (!isDead || hasRestarted) continue;
        hasRestarted = true;
        void work.catch(() => undefined);
        const dying = [desk.beforeApplicationShutdown(), ...runners.splice(0).map((runner) => runner.stop())];
        subject = await subject.crash();
        await Promise.allSettled(dying);
        await run();
        await eventually(async () => {
          nowMs += 10_000;
          await settle();
          for (const id of ['a', 'b']) expect(new Set(requests(id).flatMap(idsOf)).size).toBe(until);
        });
      }
      return steps;
    }

    it('leaves each transition told, and again only under the same id', async () => {
      const steps = isShort ? 8 : await courseOf(Infinity);
      expect(steps).toBeGreaterThan(isShort ? 0 : 15);
      // A crash after each of the first 12 steps, then after every fifth.
      for (let last = isShort ? steps : 1; last <= steps; last += last < 12 ? 1 : 5) {
        await stop();
        await subject.close();
        receiver.received.length = 0;
        subject = await open();
        const died = (await courseOf(last)) >= last;
        expect(died || !isShort).toBe(true);
        for (const id of ['a', 'b']) {
          const deliveriesOf = new Map<string, Set<string>>();
          for (const request of requests(id))
            for (const one of idsOf(request)) deliveriesOf.set(one, (deliveriesOf.get(one) ?? new Set()).add(deliveryOf(request)));
          const found = Object.fromEntries(Array.from(deliveriesOf, ([one, ids]) => [one, ids.size]));
          expect({ last, id, found }).toEqual({ last, id, found: Object.fromEntries(expected.map((at) => [alert(at).alertId, 1])) });
        }
      }
    }, 300_000);
  });

  if (isShort) return;

  it('tells a target what matters enough, and nothing while it is paused or is of another organization', async () => {
    await run();
    const others = [
      targetOf('low', { minSeverity: 'critical' }),
      targetOf('asked', { paused: 'asked' }),
      targetOf('other', { orgId: 'p' }),
    ];
    await append(...[targetOf('a'), ...others].map((target) => entry(alertTargets, target)), told(alert(1)));
    await eventually(async () => expect(await recorded()).toEqual(['delivered']));
    await settle();
    expect(receiver.received.map(({ path }) => path)).toEqual(['/a']);
  });

  it('writes mail, once, also where the first attempt is refused', async () => {
    mail.answer = '451 later';
    await run();
    await append(entry(alertTargets, targetOf('a', { kind: 'email', to: 'ops@example.com', secret: '' })), told(alert(1)));
    await eventually(async () => expect((await stateOf())?.attempts).toMatchObject([{ outcome: 'failed', status: 451 }]));
    mail.answer = '250 kept';
    nowMs += 4_000;
    await settle();
    await eventually(async () => expect(await recorded()).toEqual(['failed', 'delivered']));
    const { attempts } = (await stateOf())!;
    expect(mail.received).toMatchObject([{ from: 'hw@example.org', to: ['ops@example.com'] }]);
    expect(mail.received[0]!.data).toContain(`Message-ID: <${attempts[1]!.deliveryId}@example.org>`);
    expect(mail.received[0]!.data).toContain('sample.metric of s is 81, above 80');
  });

  it('tells nobody of what is silenced, nor that it is over, until the silence ends', async () => {
    await run();
    const subjectOfAll = { orgId: 'o', sourceId: 's', monitorId: 'sample', condition: 'threshold' } as const;
    const nobody = { acknowledgedId: '', acknowledgedMs: 0, acknowledgedBy: '' };
    const note = { ...subjectOfAll, ...nobody, silencedUntilMs: t + 1000, silencedBy: 'ann' };
    await append(entry(alertTargets, targetOf('a')), entry(alertNotes, note));
    await append(told(alert(1)), told({ ...alert(1), resolvedMs: t + 2, resolution: 'inside' }), told(alert(2, 'other')));
    await eventually(async () => expect(await recorded()).toEqual(['delivered']));
    nowMs += 1000;
    await append(told(alert(3)));
    await eventually(async () => expect(await recorded()).toHaveLength(2));
    expect(requests().flatMap(idsOf)).toEqual([alert(2).alertId, alert(3).alertId]);
  });

  it('tells nothing that fired before it ran for the first time', async () => {
    await append(entry(alertTargets, targetOf('a')), told(alert(1)));
    await run();
    await append(told(alert(2)));
    await eventually(async () => expect(await recorded()).toEqual(['delivered']));
    expect(requests().flatMap(idsOf)).toEqual([alert(2).alertId]);
  });

  it('keeps what a target answers while the group takes the partitions back, so that nobody tells it again', async () => {
    const state = afterNotice(noDeliveries('o', 'a'), { partition: 0, offset: 0 }, [alert(1)]);
    await append(entry(alertTargets, targetOf('a')), entry(deliveries, state));
    let isLost = false;
    receiver.behaviour = (_, response) => {
      isLost = true;
      response.end();
    };
    desk = new DeliveryDesk(subject.log, subject.views, outbound, clock);
    const lease: Lease = { held: () => !isLost, during: (effect) => effect(() => true) };
    await desk.table.begin(
      lease,
      Array.from({ length: deliveries.partitions }, (_, partition) => partition),
    );
    await desk.tick(nowMs, lease);
    await eventually(async () => expect(await recorded()).toEqual(['delivered']));
    expect([requests().length, isLost]).toEqual([1, true]);
  });

  it('tries again with the same id, and keeps each attempt', async () => {
    const statuses = [500, 503, 200];
    receiver.behaviour = (_, response) => void response.writeHead(statuses[receiver.received.length - 1] ?? 200).end('words');
    await run();
    await append(entry(alertTargets, targetOf('a')), told(alert(1)));
    for (let attempts = 1; attempts <= 3; attempts++) {
      await eventually(async () => expect(await recorded()).toHaveLength(attempts));
      await settle();
      expect(requests()).toHaveLength(attempts);
      nowMs += 4_000;
      await settle();
    }
    expect(new Set(requests().map(deliveryOf)).size).toBe(1);
    const { attempts } = (await stateOf())!;
    expect(attempts.map(({ outcome, status, error }) => [outcome, status, error])).toEqual([
      ['failed', 500, 'The target answered 500: words'],
      ['failed', 503, 'The target answered 503: words'],
      ['delivered', 200, ''],
    ]);
  });

  it('signs with the secret before too, while it lasts', async () => {
    const newer = `whsec_${Buffer.from('another one of 24 bytes').toString('base64')}`;
    const target = targetOf('a', { secret: newer, formerSecret: { secret, untilMs: t + 10 } });
    const signatures = (at: number, ...secrets: string[]): string => {
      const { headers, body } = requests()[at]!;
      return secrets.map((one) => new Webhook(one).sign(String(headers['webhook-id']), new Date(nowMs), body)).join(' ');
    };
    await run();
    await append(entry(alertTargets, target), told(alert(1)));
    await eventually(async () => expect(await recorded()).toEqual(['delivered']));
    expect(requests()[0]!.headers['webhook-signature']).toBe(signatures(0, newer, secret));
    nowMs += 10;
    await append(told(alert(2)));
    await eventually(async () => expect(await recorded()).toHaveLength(2));
    expect(requests()[1]!.headers['webhook-signature']).toBe(signatures(1, newer));
  });

  it('lets no target wait for another one', async () => {
    receiver.behaviour = ({ path }, response) => void (path === '/a' ? undefined : response.end());
    const many = Array.from({ length: maxTargets }, (_, at) => targetOf(at === 0 ? 'a' : `b${at}`));
    await run();
    await append(...many.map((target) => entry(alertTargets, target)), told(alert(1)));
    await eventually(() => expect(new Set(receiver.received.map(({ path }) => path)).size).toBe(maxTargets));
    await append(told(alert(2)));
    await eventually(async () => expect(await recorded('b1')).toEqual(['delivered', 'delivered']));
    expect(await recorded('a')).toEqual([]);
  });

  it('tells many in one delivery, each of them once', async () => {
    await run();
    await append(entry(alertTargets, targetOf('a')));
    const all = Array.from({ length: 3000 }, (_, at) => alert(at + 1, `s${at}`));
    await append(...all.map((one) => told(one)));
    // A receiver that is slow to answer gets the same delivery again.
    const made = (): readonly ReceivedRequest[] => [...new Map(requests().map((one) => [deliveryOf(one), one])).values()];
    await eventually(async () => {
      nowMs += 10_000;
      await settle();
      expect(made().flatMap(idsOf)).toHaveLength(all.length);
    });
    await settle();
    expect(made().flatMap(idsOf).toSorted()).toEqual(all.map(({ alertId }) => alertId));
    expect(made().length).toBeLessThan(30);
  });

  it('ends a delivery that is refused for good, and goes on with the next', async () => {
    receiver.behaviour = (_, response) => void response.writeHead(receiver.received.length === 1 ? 400 : 200).end('no such field');
    await run();
    await append(entry(alertTargets, targetOf('a')), told(alert(1)));
    await eventually(async () => expect(await recorded()).toEqual(['refused']));
    await append(told(alert(2)));
    await eventually(async () => expect(await recorded()).toEqual(['refused', 'delivered']));
    nowMs += 1e6;
    await settle();
    expect(requests().flatMap(idsOf)).toEqual([alert(1).alertId, alert(2).alertId]);
    const error = 'The target answered 400: no such field';
    expect((await stateOf())!.attempts[0]).toMatchObject({ status: 400, error, transitions: 1, againMs: null });
  });

  it('counts how targets are told', async () => {
    receiver.behaviour = ({ path }, response) => void response.writeHead(path === '/a' ? 500 : 204).end();
    await run();
    const others = [targetOf('b', { kind: 'slack', secret: '' }), targetOf('c', { paused: 'asked' }), targetOf('d', { paused: 'gone' })];
    await append(...[targetOf('a'), ...others].map((target) => entry(alertTargets, target)), told(alert(1)));
    await eventually(async () => expect([await recorded('a'), await recorded('b')]).toEqual([['failed'], ['delivered']]));
    await append(told(alert(2)), told(alert(3)));
    await eventually(async () => expect(await recorded('b')).toHaveLength(3));
    await settle();
    nowMs += 500;
    expect(await figures()).toMatchObject({
      'headwater_delivery_attempts kind=webhook outcome=failed': 1,
      'headwater_delivery_attempts kind=webhook outcome=delivered': 0,
      'headwater_delivery_attempts kind=slack outcome=delivered': 3,
      headwater_delivery_waiting_targets: 1,
      headwater_delivery_waiting_transitions: 3,
      headwater_delivery_oldest_seconds: 0.5,
      'headwater_paused_targets reason=asked': 1,
      'headwater_paused_targets reason=failing': 0,
      'headwater_paused_targets reason=gone': 1,
    });
  });

  it('has a target paused at once that is gone', async () => {
    receiver.behaviour = (_, response) => void response.writeHead(410).end();
    await run();
    await append(entry(alertTargets, targetOf('a')), told(alert(1)));
    await eventually(async () => expect(await recorded()).toEqual(['gone']));
    expect(await theCommand()).toMatchObject({ does: 'gone', targetId: 'a', changedMs: t });
    nowMs += 1e6;
    await settle();
    expect(requests()).toHaveLength(1);
  });

  it('writes no mail again that was refused for good', async () => {
    mail.answer = '550 no such mailbox';
    await run();
    await append(entry(alertTargets, targetOf('a', { kind: 'email', to: 'ops@example.com', secret: '' })), told(alert(1)));
    await eventually(async () => expect((await stateOf())?.attempts).toMatchObject([{ outcome: 'refused', status: 550 }]));
    nowMs += 1e6;
    await settle();
    expect(mail.refused).toBe(1);
  });

  it('knows nothing of a target that is deleted', async () => {
    await run();
    await append(entry(alertTargets, targetOf('a')), told(alert(1)));
    await eventually(async () => expect(await recorded()).toEqual(['delivered']));
    await append(tombstone(alertTargets, 'o/a'));
    await eventually(async () => {
      await settle();
      await runners[1]!.checkpoint();
      expect(await stateOf()).toBeUndefined();
    });
  });

  it('makes a test once, also where the target is paused, and keeps what became of it', async () => {
    receiver.behaviour = (_, response) => void response.writeHead(404).end('no such channel');
    await run();
    const test = entry(notices, { orgId: 'o', targetId: 'a', place: null, testId: 'msg_1', alerts: [sampleAlert(t)] });
    await append(entry(alertTargets, targetOf('a', { paused: 'asked' })), test);
    await eventually(async () => expect(await recorded()).toEqual(['failed']));
    await append(test);
    nowMs += 1e6;
    await settle();
    expect(requests()).toHaveLength(1);
    expect(JSON.parse(requests()[0]!.body)).toMatchObject({ type: 'alert.triggered', test: true });
    expect((await stateOf())!.attempts).toMatchObject([{ deliveryId: 'msg_1', isTest: true, status: 404 }]);
  });
}
