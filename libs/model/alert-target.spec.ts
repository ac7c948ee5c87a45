import { describe, expect, it } from '@jest/globals';
import {
  flawOfAlertTarget,
  flawsOfTarget,
  formerSecretMs,
  isTold,
  normalTarget,
  rotated,
  secretsOf,
  shownTo,
  type AlertTarget,
  type TargetKind,
} from './alert-target.js';

const target: AlertTarget = {
  orgId: 'o',
  targetId: 'target_1',
  name: 'ops',
  kind: 'webhook',
  to: 'https://example.com/hook',
  minSeverity: 'info',
  secret: 'whsec_c2VjcmV0',
  formerSecret: null,
  createdMs: 1,
  changedMs: 1,
  paused: null,
};
const of = (kind: TargetKind, to: string, name = ''): AlertTarget => ({ ...target, kind, to, name });

describe('a target', () => {
  it.each([
    ['webhook', 'https://example.com'],
    ['webhook', 'http://10.0.0.1:8080/a?b=c#d'],
    ['slack', 'https://hooks.slack.com/services/T0/B0/abc'],
    ['discord', 'https://discord.com/api/webhooks/1/abc'],
    ['teams', 'https://prod-1.westeurope.logic.azure.com/workflows/1?sig=abc'],
    ['ntfy', 'https://ntfy.sh/my-topic'],
    ['ntfy', 'https://ntfy.example/my-topic/?auth=abc'],
    ['email', 'Ops+alerts@Example.com'],
  ] as const)('%s at %s is good', (kind, to) => {
    expect(flawsOfTarget(of(kind, to))).toEqual([]);
    expect(flawOfAlertTarget(of(kind, to))).toBeUndefined();
  });

  it.each([
    ['webhook', '', '/url'],
    ['webhook', 'example.com', '/url'],
    ['webhook', 'ftp://example.com', '/url'],
    ['webhook', 'file:///etc/passwd', '/url'],
    ['webhook', 'https://me:secret@example.com/', '/url'],
    ['webhook', `https://example.com/${'a'.repeat(2048)}`, '/url'],
    ['ntfy', 'https://ntfy.sh/', '/url'],
    ['ntfy', 'https://ntfy.sh/a/b', '/url'],
    ['email', 'https://example.com', '/email'],
    ['email', 'ops', '/email'],
    ['email', 'a@b, c@d', '/email'],
    ['email', 'a,b@example.com', '/email'],
    ['email', 'Ops <ops@example.com>', '/email'],
    ['email', 'ops@example.com\r\nBcc: all@example.com', '/email'],
  ] as const)('%s at %j is refused', (kind, to, pointer) => {
    const flaws = flawsOfTarget(of(kind, to));
    expect(flaws.map((flaw) => flaw.pointer)).toEqual([pointer]);
    expect(flawOfAlertTarget(of(kind, to))).not.toContain('secret');
  });

  it.each([['a'.repeat(101)], ['a\nb'], ['\uD800']])('with the name %j is refused', (name) => {
    expect(flawsOfTarget(of('webhook', target.to, name)).map(({ pointer }) => pointer)).toEqual(['/name']);
  });

  it.each([
    ['webhook', 'HTTP://0x7f.1/a', 'http://127.0.0.1/a'],
    ['email', ' Ops@Example.COM', 'ops@example.com'],
  ] as const)('%s at %j is kept as %s', (kind, to, kept) => {
    expect(normalTarget(of(kind, to)).to).toBe(kept);
  });

  it.each([
    ['slack', 'https://hooks.slack.com/services/T0/B0/abcdefgh', 'https://hooks.slack.com/…efgh'],
    ['ntfy', 'https://ntfy.sh/short', 'https://ntfy.sh/…'],
    ['email', 'ops@example.com', 'ops@example.com'],
  ] as const)('%s at %s is shown as %s', (kind, to, shown) => {
    expect(shownTo(of(kind, to))).toBe(shown);
  });

  it('is signed with the secret before for a day after it has another one', () => {
    const once = rotated(target, 'whsec_bmV3', 10);
    expect([9, 10, 9 + formerSecretMs, 10 + formerSecretMs].map((ms) => secretsOf(once, ms))).toEqual([
      ['whsec_bmV3', 'whsec_c2VjcmV0'],
      ['whsec_bmV3', 'whsec_c2VjcmV0'],
      ['whsec_bmV3', 'whsec_c2VjcmV0'],
      ['whsec_bmV3'],
    ]);
    expect(secretsOf(rotated(once, 'whsec_Mw==', 11), 11)).toEqual(['whsec_Mw==', 'whsec_c2VjcmV0']);
    const lateMs = 10 + formerSecretMs;
    expect(secretsOf(rotated(once, 'whsec_Mw==', lateMs), lateMs)).toEqual(['whsec_Mw==', 'whsec_bmV3']);
    expect(secretsOf({ ...target, kind: 'slack', secret: '' }, 10)).toEqual([]);
  });

  it('is told what matters enough', () => {
    const told = (['info', 'warning', 'critical'] as const).map((severity) => isTold(severity, { ...target, minSeverity: 'warning' }));
    expect(told).toEqual([false, true, true]);
  });
});
