import { describe, expect, it } from '@jest/globals';
import type { Alert } from './alert.js';
import { messageOf, type Message } from './alert-message.js';
import { targetKinds, type AlertTarget, type TargetKind } from './alert-target.js';
import { maxAlertMessageBytes } from './monitor.js';
import { maxToldNamed, namesOf, toldTogether } from './told-alerts.js';

const threshold = {
  min: null,
  max: 80,
  clearMin: null,
  clearMax: null,
  forMs: 0,
  severity: 'critical',
  message: 'See the runbook.',
} as const;
const hot: Alert = {
  alertId: `alert_${'0f'.repeat(12)}`,
  monitorId: 'mon_1',
  sourceId: 'press-7',
  metric: 'oil.heat',
  value: 93.5,
  threshold,
  offline: null,
  triggeredMs: 1_700_000_000_000,
  resolvedMs: null,
  resolution: null,
};
const cool: Alert = { ...hot, value: 72, resolvedMs: 1_700_000_060_000, resolution: 'inside' };
const gone: Alert = {
  ...hot,
  threshold: null,
  offline: { timeoutMs: 300_000, severity: 'warning', message: '' },
  metric: null,
  value: null,
};

const urls: Partial<Record<TargetKind, string>> = { email: 'ops@example.com', ntfy: 'https://ntfy.sh/my-topic?auth=abc' };
const target = (kind: TargetKind): AlertTarget => {
  const to = urls[kind] ?? 'https://example.com/hook';
  return {
    orgId: 'o',
    targetId: 't',
    name: '',
    kind,
    to,
    minSeverity: 'info',
    secret: 'whsec_c2VjcmV0',
    formerSecret: null,
    createdMs: 1,
    changedMs: 1,
    paused: null,
  };
};
const message = (kind: TargetKind, alerts: readonly Alert[], isTest = false): Message =>
  messageOf(target(kind), { id: 'd1', told: toldTogether(null, alerts)!, isTest, madeMs: 1_700_000_001_000 }, 0);
const bodyOf = (sent: Message): string => ('http' in sent ? sent.http.body : sent.mail.text);
const jsonOf = (kind: TargetKind, alerts: readonly Alert[], isTest = false): Record<string, unknown> =>
  JSON.parse(bodyOf(message(kind, alerts, isTest))) as Record<string, unknown>;

const since = 'Since 2023-11-14 22:13:20 UTC';

describe('a message', () => {
  it('is plain text in an e-mail', () => {
    expect(message('email', [hot])).toEqual({
      id: 'd1',
      mail: {
        to: 'ops@example.com',
        subject: 'Critical: oil.heat of press-7 is 93.5, above 80',
        text: `🔴 Critical: oil.heat of press-7 is 93.5, above 80\nSee the runbook.\n${since}\n`,
      },
    });
  });

  it('is one text for Slack, without marks and previews', () => {
    const text = `🔴 Critical: oil.heat of press-7 is 93.5, above 80\nSee the runbook.\n${since}`;
    expect(jsonOf('slack', [hot])).toEqual({ text, mrkdwn: false, unfurl_links: false, unfurl_media: false });
  });

  it('mentions nobody on Discord', () => {
    const content = `🔴 Critical: oil.heat of press\\-7 is 93.5, above 80\nSee the runbook.\n${since.replaceAll('-', String.raw`\-`)}`;
    expect(jsonOf('discord', [hot])).toEqual({ content, allowed_mentions: { parse: [] }, flags: 4 });
  });

  it('is a card of runs for Teams, which have no markup', () => {
    const { attachments } = jsonOf('teams', [hot]) as {
      attachments: { content: { body: { type: string; inlines: { text: string }[] }[] } }[];
    };
    const { body } = attachments[0]!.content;
    expect(new Set(body.map(({ type }) => type))).toEqual(new Set(['RichTextBlock']));
    expect(body.map(({ inlines }) => inlines[0]!.text)[1]).toBe('See the runbook.');
  });

  it('goes to the server of an ntfy topic, with what the URL asks', () => {
    const sent = message('ntfy', [hot]);
    expect('http' in sent && sent.http.url).toBe('https://ntfy.sh/?auth=abc');
    const title = '🔴 Critical: oil.heat of press-7 is 93.5, above 80';
    expect(jsonOf('ntfy', [hot])).toEqual({ topic: 'my-topic', title, message: `See the runbook.\n${since}`, priority: 5 });
  });

  it('is the alert itself for a webhook, and signed', () => {
    const sent = message('webhook', [hot]);
    expect('http' in sent && sent.http.secrets).toEqual(['whsec_c2VjcmV0']);
    expect(jsonOf('webhook', [hot])).toEqual({
      type: 'alert.triggered',
      timestamp: '2023-11-14T22:13:21.000Z',
      alert_id: hot.alertId,
      monitor_id: 'mon_1',
      source_id: 'press-7',
      metric: 'oil.heat',
      condition: 'threshold',
      value: 93.5,
      threshold: { max: 80 },
      severity: 'critical',
      message: 'See the runbook.',
      triggered_at_ms: 1_700_000_000_000,
      resolved_at_ms: null,
    });
    expect(jsonOf('webhook', [cool])['type']).toBe('alert.resolved');
  });

  it('of others than a webhook is not signed', () => {
    const secrets = targetKinds.map((kind) => message(kind, [hot])).flatMap((sent) => ('http' in sent ? sent.http.secrets : []));
    expect(secrets).toHaveLength(1);
  });

  it.each([
    ['a minimum', { ...hot, value: -1, threshold: { ...threshold, min: 0 } }, 'Critical: oil.heat of press-7 is -1, below 0'],
    ['a maximum of two bounds', { ...hot, threshold: { ...threshold, min: 0 } }, 'Critical: oil.heat of press-7 is 93.5, above 80'],
    ['silence', gone, 'Warning: press-7 is offline (silent for 5 minutes)'],
    ['a value inside', cool, 'Resolved: oil.heat of press-7 is 72'],
    ['a source that is back', { ...gone, resolvedMs: 1_700_000_300_000, resolution: 'heard' }, 'Resolved: press-7 is back'],
    [
      'a monitor that was deleted',
      { ...cool, resolution: 'deleted' },
      'Resolved: oil.heat of press-7 is not watched any more: the monitor was deleted',
    ],
  ] as const)('says of %s', (_, alert, expected) => {
    const sent = message('email', [alert]);
    expect('mail' in sent && sent.mail.subject).toBe(expected);
  });

  it.each(targetKinds)('of a test for %s says so', (kind) => {
    const body = bodyOf(message(kind, [hot], true));
    expect(body).toMatch(kind === 'webhook' ? /"test":true/ : /Test:/);
  });
});

describe('a name that means something to the target', () => {
  const named = (metric: string): Alert => ({ ...hot, metric, threshold: { ...threshold, message: metric } });
  const texts = (kind: TargetKind, metric: string): string => bodyOf(message(kind, [named(metric)]));

  it.each([
    ['slack', '<!channel> & <http://evil|x>', '&lt;!channel&gt; &amp; &lt;http://evil|x&gt;'],
    ['slack', '@all [x](http://evil)', '@\u200Ball [x]\u200B(http://evil)'],
    ['discord', '@everyone <@1>', String.raw`\@everyone \<\@1\>`],
    ['discord', '[x](http://evil) **a** _b_ `c` ||d||', String.raw`\[x\]\(http://evil\) \*\*a\*\* \_b\_ \`c\` \|\|d\|\|`],
    ['teams', '**a** <at>all</at>', '**a** <at>all</at>'],
    ['ntfy', '"},"topic":"other', '"},"topic":"other'],
    ['email', '<b>a</b>', '<b>a</b>'],
  ] as const)('for %s is text: %j', (kind, metric, expected) => {
    const text = kind === 'email' ? texts(kind, metric) : JSON.stringify(JSON.parse(texts(kind, metric)));
    expect(text).toContain(kind === 'email' ? expected : JSON.stringify(expected).slice(1, -1));
  });

  it.each(['slack', 'discord', 'teams', 'ntfy', 'email'] as const)('ends no line for %s, and turns no text round', (kind) => {
    const sent = message(kind, [named('a\r\nBcc: all@example.com\u0000\u2028\u202Eb')]);
    const told = 'mail' in sent ? sent.mail.subject + sent.mail.text.split('\n')[0]! : sent.http.body;
    expect(told).not.toMatch(/[\p{Cc}\u2028\u202E]|\\r|\\u0000/u);
    expect(told.match(/Bcc/g)).toHaveLength(2);
  });
});

describe('a message of the longest names', () => {
  const longest: Alert = {
    ...hot,
    sourceId: `s${':'.repeat(255)}`,
    metric: '*'.repeat(256),
    threshold: { ...threshold, message: '_'.repeat(maxAlertMessageBytes) },
  };
  it.each([
    ['slack', 3000],
    ['discord', 2000],
    ['teams', 28_000],
    ['ntfy', 4000],
    ['email', 20_000],
  ] as const)('fits into %s', (kind, max) => {
    for (const count of [1, 20]) {
      const sent = message(
        kind,
        Array.from({ length: count }, () => longest),
      );
      const json = kind === 'email' ? {} : (JSON.parse(bodyOf(sent)) as { content?: string; text?: string });
      expect((json.content ?? json.text ?? bodyOf(sent)).length).toBeLessThanOrEqual(max);
    }
  });
});

describe('many transitions', () => {
  const many = Array.from({ length: maxToldNamed + 5 }, (_, at): Alert => {
    const alertId = `alert_${at.toString(16).padStart(24, '0')}`;
    return at % 4 === 3 ? { ...cool, alertId } : { ...hot, alertId };
  });
  const told = toldTogether(toldTogether(null, many.slice(0, 7)), many.slice(7))!;

  it('are told the same, however they come', () => {
    expect(told).toEqual(toldTogether(null, many));
  });

  it('are all named in one body', () => {
    const body = messageOf(target('webhook'), { id: 'd', told, isTest: false, madeMs: 1 }, 0);
    const json = JSON.parse(bodyOf(body)) as Record<string, unknown[]>;
    expect(json).toMatchObject({ type: 'alerts.summary', triggered: 15_004, resolved: 5001, severity: 'critical' });
    const ids = new Set([...json['triggered_ids']!, ...json['resolved_ids']!]);
    expect([ids.size, json['alerts']!.length, json['triggered_ids']![0]]).toEqual([maxToldNamed, 20, many[0]!.alertId]);
    expect(namesOf(told).resolved[0]).toBe(many[3]!.alertId);
    expect(Buffer.byteLength(bodyOf(body))).toBeLessThan(1_000_000);
  });

  it.each([
    ['email', /15,004 triggered, 5,001 resolved/],
    ['slack', /… and 19,995 more/],
  ] as const)('are counted for %s', (kind, expected) => {
    expect(bodyOf(messageOf(target(kind), { id: 'd', told, isTest: false, madeMs: 1 }, 0))).toMatch(expected);
  });
});
