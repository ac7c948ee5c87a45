/** Whether this is `npm run test:faults`. */
export const isLong = process.env['FAULTS'] === 'long';
const column = isLong ? 1 : 0;

/** How often and for how long things break: in `npm test`, and in `npm run test:faults`. Milliseconds where a name says so. */
const table = {
  kills: [1, 10],
  brokerRestarts: [1, 3],
  brokerDownMs: [12_000, 60_000],
  questDbDownMs: [5_000, 60_000],
  registryDownMs: [3_000, 60_000],
  frozenMs: [13_000, 30_000],
  oneOfThreeDownMs: [5_000, 60_000],
  twoOfThreeDownMs: [12_000, 60_000],
  idle: [2_000, 10_000],
  deviceAwayMs: [10_000, 600_000],
  /** Of each device, while the server is away. */
  devicePoints: [50_000, 1_000_000],
  /** Devices that ten monitors each watch. */
  watched: [25, 100],
} satisfies Record<string, readonly [short: number, long: number]>;

export type Durations = { readonly [Name in keyof typeof table]: number };

export const durations = Object.fromEntries(Object.entries(table).map(([name, of]) => [name, of[column]])) as Durations;

/** For one row. */
export const rowMs = isLong ? 3_600_000 : 420_000;
