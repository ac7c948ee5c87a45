import type { Runner, RunnerFigures, RunnerLag } from '#log';
import { counter, gauge, histogram, type Metric, type Sample } from '#model';

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
    gauge('headwater_group_lag_records', 'Records of the log that the group has not committed.', () =>
      Promise.all(Array.from(runners, async ([group, runner]) => ({ labels: { group }, value: await runner.lag() }))),
    ),
    gauge(
      'headwater_partition_lag_records',
      'Records of a partition that the group has not committed, of each partition that this process reads.',
      eachLag(({ records }) => records),
    ),
    gauge(
      'headwater_partition_lag_seconds',
      'Age of the oldest record of a partition that the group has not committed; up to the time between two checkpoints is normal.',
      eachLag(({ ageMs }) => ageMs / 1000),
    ),
    gauge(
      'headwater_group_lag_seconds',
      'Age of the oldest record that the group has not committed, of all partitions that this process reads.',
      async () => {
        const oldest = new Map(Array.from(runners.keys(), (group) => [group, 0]));
        for (const { group, ageMs } of await look()) oldest.set(group, Math.max(oldest.get(group) ?? 0, ageMs));
        return Array.from(oldest, ([group, ageMs]) => ({ labels: { group }, value: ageMs / 1000 }));
      },
    ),
    counter(
      'headwater_group_processed_records',
      'Records that the group has processed since the start; one that came again counts again.',
      each(({ processed }) => processed),
    ),
    counter(
      'headwater_group_parked_records',
      'Records that the group has put into a dead-letter topic since the start.',
      each(({ parked }) => parked),
    ),
    counter(
      'headwater_group_failures',
      'Attempts to process a batch or to take a checkpoint that failed since the start.',
      each(({ failures }) => failures),
    ),
    gauge(
      'headwater_group_checkpoint_age_seconds',
      'Time since all that the group had processed was known to be durable.',
      each(({ checkpointAgeMs }) => checkpointAgeMs / 1000),
    ),
    histogram(
      'headwater_group_checkpoint_duration_seconds',
      'Time that a checkpoint took, from its beginning until its offsets were committed.',
      () => Array.from(runners, ([group, runner]) => ({ labels: { group }, value: runner.figures().checkpointSeconds })),
    ),
  ];
}

async function lagsOf(runners: ReadonlyMap<string, Runner>): Promise<readonly GroupLag[]> {
  const all = Array.from(runners, async ([group, runner]) => (await runner.lags()).map((lag) => ({ ...lag, group })));
  return (await Promise.all(all)).flat();
}
