import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Alert } from './alert.js';
import { afterTransitions, maxResolvedKnown, type SourceAlerts } from './source-alerts.js';

const alert = (at: number, resolvedMs: number | null = null): Alert => ({
  alertId: `a${at}`,
  monitorId: 'm',
  sourceId: 's',
  metric: 'heat',
  value: 1,
  threshold: null,
  offline: { timeoutMs: 60_000, severity: 'warning', message: '' },
  triggeredMs: at,
  resolvedMs,
  resolution: resolvedMs === null ? null : 'heard',
});
const of = (alerts: readonly Alert[]): SourceAlerts => ({ orgId: 'o', sourceId: 's', alerts });
const after = (...batches: (readonly Alert[])[]): SourceAlerts | undefined =>
  batches.reduce<SourceAlerts | undefined>((known, alerts) => afterTransitions(known, of(alerts)), undefined);

it('knows each alert as its last transition has left it', () => {
  expect(after([alert(1), alert(2)], [alert(1, 5)])).toEqual(of([alert(2), alert(1, 5)]));
});

it('says that nothing is new by the same object', () => {
  const known = after([alert(1)], [alert(1, 5)])!;
  expect(afterTransitions(known, of([alert(1), alert(1, 5)]))).toBe(known);
});

it('knows all that are open and the newest 20 that are not, whatever comes again', () => {
  const transitions = fc.array(fc.nat(40), { maxLength: 60 }).map((ids) => {
    const open = new Set<number>();
    const over = new Set<number>();
    return ids.flatMap((id): readonly Alert[] => {
      if (over.has(id)) return [];
      if (!open.delete(id)) return open.add(id) && [alert(id)];
      over.add(id);
      return [alert(id, 100 + over.size)];
    });
  });
  fc.assert(
    fc.property(transitions, fc.nat(60), (all, from) => {
      const expected = [...new Map(all.map((one) => [one.alertId, one])).values()];
      const resolved = expected.filter(({ resolvedMs }) => resolvedMs !== null).toSorted((a, b) => a.resolvedMs! - b.resolvedMs!);
      const known = after(...all.map((one) => [one]), all.slice(from))?.alerts ?? [];
      expect(new Set(known.filter(({ resolvedMs }) => resolvedMs === null))).toEqual(
        new Set(expected.filter(({ resolvedMs }) => resolvedMs === null)),
      );
      expect(known.filter(({ resolvedMs }) => resolvedMs !== null)).toEqual(resolved.slice(-maxResolvedKnown));
    }),
  );
});
