import { describe, expect, it } from '@jest/globals';
import { parseScenario, SimulatedDevice, usualScenario, type Step } from './simulation.js';

const hourMs = 3_600_000;
const midnight = Date.UTC(2026, 0, 1);

const stepsOf = (device: SimulatedDevice, count: number, everyMs: number): Step[] =>
  Array.from({ length: count }, (_, n) => device.step(midnight + n * everyMs));

describe('a simulated device', () => {
  it('does the same for the same seed, and something else for another', () => {
    const [a, b, c] = [1, 1, 2].map((seed) => stepsOf(new SimulatedDevice(usualScenario, seed), 500, hourMs));
    expect(b).toEqual(a);
    expect(c).not.toEqual(a);
  });

  it.each([
    ['a curve of the day', { mean: 20, daily: 5 }, 15, 25],
    ['a curve upside down', { mean: 20, daily: -5 }, 25, 15],
    ['noise', { mean: 20, noise: 1 }, 20, 20],
  ])('has %s: at 3:00 and 15:00', (_, metric, night, day) => {
    const scenario = parseScenario({ metrics: { m: metric }, faults: { per_day: 0, minutes: 1 } });
    const steps = stepsOf(new SimulatedDevice(scenario, 1), 24, hourMs);
    expect(Math.abs(steps[3]!.metrics['m']! - night)).toBeLessThan(4);
    expect(Math.abs(steps[15]!.metrics['m']! - day)).toBeLessThan(4);
  });

  it('drifts, until it is restarted', () => {
    const scenario = parseScenario({ metrics: { m: { mean: 0, drift: 24 } }, faults: { per_day: 0, minutes: 1 } });
    const device = new SimulatedDevice(scenario, 1);
    expect(stepsOf(device, 3, hourMs).map(({ metrics }) => metrics['m'])).toEqual([0, 1, 2]);
    device.restart();
    expect(device.step(midnight + 3 * hourMs).metrics).toEqual({ m: 1 });
    expect(device.adjust('m', 10)).toEqual({ metric: 'm', offset: 10 });
    expect(device.step(midnight + 4 * hourMs).metrics).toEqual({ m: 12 });
    expect(() => device.adjust('n', 1)).toThrow('one of m');
  });

  it('says when a fault begins and ends, and has each kind of them', () => {
    const scenario = parseScenario({ metrics: { m: { mean: 0, daily: 1 } }, faults: { per_day: 24, minutes: 30 } });
    const steps = stepsOf(new SimulatedDevice(scenario, 3), 20_000, 60_000);
    const told = steps.flatMap(({ events }) => events);
    expect(new Set(told.map(({ value }) => (value as { kind?: string }).kind))).toEqual(new Set(['stuck', 'spikes', 'silent', undefined]));
    expect(told.map(({ name }) => name)).toEqual(told.map((_, n) => (n % 2 === 0 ? 'fault.began' : 'fault.ended')));
    expect(steps.filter(({ metrics }) => Object.keys(metrics).length === 0).length).toBeGreaterThan(100);
  });

  it('has events about as often as the scenario says', () => {
    const scenario = parseScenario({ metrics: {}, events: { door: 100 }, faults: { per_day: 0, minutes: 1 } });
    const count = stepsOf(new SimulatedDevice(scenario, 1), 14_400, 60_000).flatMap(({ events }) => events).length;
    expect(count).toBeGreaterThan(850);
    expect(count).toBeLessThan(1150);
  });
});
