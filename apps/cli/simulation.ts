import { z } from 'zod';

const dayMs = 86_400_000;

const metricSchema = z.strictObject({
  /** What it is about. */
  mean: z.number(),
  /** How much warmer the afternoon is than the mean, and the night colder. */
  daily: z.number().default(0),
  /** How much it moves in a day, for a sensor that ages. */
  drift: z.number().default(0),
  noise: z.number().min(0).default(0),
});

const scenarioSchema = z.strictObject({
  metrics: z.record(z.string().min(1).max(256), metricSchema),
  /** How often each event happens in a day, by its name. */
  events: z.record(z.string().min(1).max(256), z.number().min(0)).default({}),
  /** How often a sensor fails in a day, and for how long. */
  faults: z.strictObject({ per_day: z.number().min(0), minutes: z.number().positive() }).default({ per_day: 2, minutes: 10 }),
});

/** What devices of a kind measure, what happens to them, and how often they fail. */
export type Scenario = z.output<typeof scenarioSchema>;

/** @throws ZodError that says what is wrong. */
export const parseScenario = (json: unknown): Scenario => scenarioSchema.parse(json);

export const usualScenario: Scenario = parseScenario({
  metrics: {
    'air.temperature': { mean: 21, daily: 4, noise: 0.1 },
    'air.humidity': { mean: 55, daily: -12, noise: 0.5 },
    'motor.current': { mean: 3.2, daily: 0.8, drift: 0.05, noise: 0.15 },
  },
  events: { 'door.opened': 20, 'filter.cleaned': 1 },
  faults: { per_day: 4, minutes: 5 },
});

/** What a device has to say at a time. */
export interface Step {
  readonly metrics: Readonly<Record<string, number>>;
  readonly events: readonly { readonly name: string; readonly value: unknown }[];
}

type FaultKind = 'stuck' | 'spikes' | 'silent';
const faultKinds: readonly FaultKind[] = ['stuck', 'spikes', 'silent'];

interface Sensor {
  /** Added by a command. */
  offset: number;
  last: number;
  fault: { readonly kind: FaultKind; readonly untilMs: number } | undefined;
}

/** A device that behaves as a real one may. The same seed, times and commands give the same. */
export class SimulatedDevice {
  readonly #random: () => number;
  readonly #sensors: ReadonlyMap<string, Sensor>;
  /** Devices of a kind differ a little. */
  readonly #bias: number;
  #bornMs: number | undefined;
  #lastMs: number | undefined;

  constructor(
    private readonly scenario: Scenario,
    seed: number,
  ) {
    this.#random = randomOf(seed);
    this.#bias = this.#gauss();
    this.#sensors = new Map(
      Object.entries(scenario.metrics).map(([name, { mean }]) => [name, { offset: 0, last: mean, fault: undefined }]),
    );
  }

  /** What it measures and reports at this time, which is behind that of the step before. */
  step(nowMs: number): Step {
    this.#bornMs ??= nowMs;
    const days = this.#lastMs === undefined ? 0 : (nowMs - this.#lastMs) / dayMs;
    this.#lastMs = nowMs;
    const events = Object.entries(this.scenario.events)
      .filter(([, perDay]) => this.#happens(perDay * days))
      .map(([name]): Step['events'][number] => ({ name, value: null }));
    const metrics: Record<string, number> = {};
    for (const [metric, sensor] of this.#sensors) {
      const told = this.#faultOf(metric, sensor, nowMs, days);
      if (told) events.push(told);
      const value = this.#valueOf(metric, sensor, nowMs);
      if (value !== undefined) metrics[metric] = sensor.last = value;
    }
    return { metrics, events };
  }

  /** Moves what a metric is about. @throws Error for what is no metric of it */
  adjust(metric: unknown, by: unknown): { readonly metric: string; readonly offset: number } {
    const sensor = typeof metric === 'string' ? this.#sensors.get(metric) : undefined;
    if (!sensor || typeof by !== 'number')
      throw new Error(`Give "metric", one of ${[...this.#sensors.keys()].join(', ')}, and a number "by".`);
    sensor.offset += by;
    return { metric: metric as string, offset: sensor.offset };
  }

  /** Ends all faults, and what has drifted stands where it began. */
  restart(): void {
    this.#bornMs = this.#lastMs;
    for (const sensor of this.#sensors.values()) sensor.fault = undefined;
  }

  #faultOf(metric: string, sensor: Sensor, nowMs: number, days: number): Step['events'][number] | undefined {
    const { per_day: perDay, minutes } = this.scenario.faults;
    if (sensor.fault) {
      if (nowMs < sensor.fault.untilMs) return undefined;
      sensor.fault = undefined;
      return { name: 'fault.ended', value: { metric } };
    }
    if (!this.#happens((perDay * days) / this.#sensors.size)) return undefined;
    const kind = faultKinds[Math.floor(this.#random() * faultKinds.length)]!;
    sensor.fault = { kind, untilMs: nowMs + minutes * 60_000 * (0.5 + this.#random()) };
    return { name: 'fault.began', value: { metric, kind } };
  }

  /** Undefined while the sensor is silent. */
  #valueOf(metric: string, { offset, last, fault }: Sensor, nowMs: number): number | undefined {
    const { mean, daily, drift, noise } = this.scenario.metrics[metric]!;
    if (fault?.kind === 'silent') return undefined;
    if (fault?.kind === 'stuck') return last;
    // The warmest time is three in the afternoon, in UTC.
    const curve = daily * Math.cos(((nowMs % dayMs) / dayMs - 15 / 24) * 2 * Math.PI);
    const aged = (drift * (nowMs - this.#bornMs!)) / dayMs;
    const spike = fault?.kind === 'spikes' && this.#random() < 0.2 ? 10 * (Math.abs(daily) + noise) : 0;
    const value = mean + offset + curve + aged + spike + noise * (this.#gauss() + this.#bias);
    return Math.round(value * 1000) / 1000;
  }

  #happens(times: number): boolean {
    return this.#random() < 1 - Math.exp(-times);
  }

  /** About 0, mostly between -2 and 2. */
  #gauss(): number {
    return this.#random() + this.#random() + this.#random() + this.#random() - 2;
  }
}

/** Numbers in [0, 1) that a seed repeats. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
