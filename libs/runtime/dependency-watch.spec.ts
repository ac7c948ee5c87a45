import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { DependencyWatch } from './dependency-watch.js';

let nowMs: number;
let reason: string | undefined;
let lines: string[];
let watch: DependencyWatch;
beforeEach(() => {
  [nowMs, reason, lines] = [0, undefined, []];
  const logger = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) });
  watch = new DependencyWatch([{ id: 'db', name: 'The database', health: () => reason }], logger, () => nowMs);
});
afterEach(() => watch.stop());

/** Looks every second, as the timer does. */
function pass(seconds: number): void {
  for (let n = 0; n < seconds; n++) {
    nowMs += 1_000;
    watch.look();
  }
}

it('tells of an outage once, then once a minute, and of its end', () => {
  pass(100);
  reason = 'The database does not answer: ECONNREFUSED';
  pass(150);
  reason = undefined;
  pass(100);
  const told = lines.map((line) => JSON.parse(line) as object);
  expect(told).toEqual([
    { level: 50, dependency: 'db', seconds: 0, msg: 'The database does not answer: ECONNREFUSED' },
    { level: 50, dependency: 'db', seconds: 60, msg: 'The database does not answer: ECONNREFUSED (for 60 s now)' },
    { level: 50, dependency: 'db', seconds: 120, msg: 'The database does not answer: ECONNREFUSED (for 120 s now)' },
    { level: 30, dependency: 'db', seconds: 150, msg: 'The database works again after 150 s' },
  ]);
});

it('has a gauge that is read as things stand', () => {
  expect(watch.metric.read()).toEqual([{ labels: { dependency: 'db' }, value: 1 }]);
  reason = 'gone';
  expect(watch.metric.read()).toEqual([{ labels: { dependency: 'db' }, value: 0 }]);
});
