import { expect, it } from '@jest/globals';
import { newMonitor, toBody } from './definition.js';

it.each([0, 0.3, 64.1, 1.005, 604_799.999])('%d seconds are taken to the millisecond, and read again as they were sent', (seconds) => {
  const threshold = { max: 80, for_seconds: seconds };
  const body = { source_id: 's', metric: 'heat', threshold, offline: { timeout_seconds: 10 + seconds } };
  const definition = newMonitor.parse(body);
  expect([definition.threshold!.forMs, definition.offline!.timeoutMs]).toEqual([
    Math.round(seconds * 1000),
    Math.round(10_000 + seconds * 1000),
  ]);
  expect(toBody(definition)).toMatchObject({
    threshold: seconds === 0 ? { max: 80 } : threshold,
    offline: { timeout_seconds: Math.round(10_000 + seconds * 1000) / 1000 },
  });
});
