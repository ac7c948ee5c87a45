import type { Runner, RunnerFigures } from '#log';
import type { Metric, Sample } from '#model';

/** The figures of consumer groups, each sample labelled with its group. */
export function runnerMetrics(runners: ReadonlyMap<string, Runner>): Metric[] {
  const each = (figure: (figures: RunnerFigures) => number) => (): Sample[] =>
    Array.from(runners, ([group, runner]) => ({ labels: { group }, value: figure(runner.figures()) }));
  return [
    {
      name: 'headwater_group_lag_records',
      kind: 'gauge',
      unit: '',
      help: 'Records of the log that the group has not committed.',
      read: () => Promise.all(Array.from(runners, async ([group, runner]) => ({ labels: { group }, value: await runner.lag() }))),
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
  ];
}
