import type { Runner, RunnerFigures, RunnerLag } from '#log';
import type { Metric, Sample } from '#model';

interface GroupLag extends RunnerLag {
  readonly group: string;
}

/** The figures of consumer groups, each sample labelled with its group. */
export function runnerMetrics(runners: ReadonlyMap<string, Runner>): Metric[] {
  const each = (figure: (figures: RunnerFigures) => number) => (): Sample[] =>
    Array.from(runners, ([group, runner]) => ({ labels: { group }, value: figure(runner.figures()) }));
  // One look at the log for all figures that are read at the same time.
  let looking: Promise<readonly GroupLag[]> | undefined;
  const look = (): Promise<readonly GroupLag[]> => (looking ??= lagsOf(runners).finally(() => (looking = undefined)));
  const eachLag = (figure: (lag: RunnerLag) => number) => async (): Promise<Sample[]> =>
    (await look()).map((lag) => ({ labels: { group: lag.group, topic: lag.topic, partition: String(lag.partition) }, value: figure(lag) }));
  return [
    {
      name: 'headwater_group_lag_records',
      kind: 'gauge',
      unit: '',
      help: 'Records of the log that the group has not committed.',
      read: () => Promise.all(Array.from(runners, async ([group, runner]) => ({ labels: { group }, value: await runner.lag() }))),
    },
    {
      name: 'headwater_partition_lag_records',
      kind: 'gauge',
      unit: '',
      help: 'Records of a partition that the group has not committed, of each partition that this process reads.',
      read: eachLag(({ records }) => records),
    },
    {
      name: 'headwater_partition_lag_seconds',
      kind: 'gauge',
      unit: 'seconds',
      help: 'Age of the oldest record of a partition that the group has not committed; up to the time between two checkpoints is normal.',
      read: eachLag(({ ageMs }) => ageMs / 1000),
    },
    {
      name: 'headwater_group_lag_seconds',
      kind: 'gauge',
      unit: 'seconds',
      help: 'Age of the oldest record that the group has not committed, of all partitions that this process reads.',
      read: async () => {
        const oldest = new Map(Array.from(runners.keys(), (group) => [group, 0]));
        for (const { group, ageMs } of await look()) oldest.set(group, Math.max(oldest.get(group) ?? 0, ageMs));
        return Array.from(oldest, ([group, ageMs]) => ({ labels: { group }, value: ageMs / 1000 }));
      },
    },
    {
      name: 'headwater_group_processed_records',
      kind: 'counter',
      unit: '',
      help: 'Records that the group has processed since the start; one that came again counts again.',
      read: each(({ processed }) => processed),
    },
    {
      name: 'headwater_group_parked_records',
      kind: 'counter',
      unit: '',
      help: 'Records that the group has put into a dead-letter topic since the start.',
      read: each(({ parked }) => parked),
    },
    {
      name: 'headwater_group_failures',
      kind: 'counter',
      unit: '',
      help: 'Attempts to process a batch or to take a checkpoint that failed since the start.',
      read: each(({ failures }) => failures),
    },
    {
      name: 'headwater_group_checkpoint_age_seconds',
      kind: 'gauge',
      unit: 'seconds',
      help: 'Time since all that the group had processed was known to be durable.',
      read: each(({ checkpointAgeMs }) => checkpointAgeMs / 1000),
    },
    {
      name: 'headwater_group_checkpoint_duration_seconds',
      kind: 'histogram',
      unit: 'seconds',
      help: 'Time that a checkpoint took, from its beginning until its offsets were committed.',
      read: () => Array.from(runners, ([group, runner]) => ({ labels: { group }, value: runner.figures().checkpointSeconds })),
    },
  ];
}

async function lagsOf(runners: ReadonlyMap<string, Runner>): Promise<readonly GroupLag[]> {
  const all = Array.from(runners, async ([group, runner]) => (await runner.lags()).map((lag) => ({ ...lag, group })));
  return (await Promise.all(all)).flat();
}
