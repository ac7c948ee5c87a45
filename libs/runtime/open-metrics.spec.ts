import { describe, expect, it } from '@jest/globals';
import { counter, gauge, Histogram, histogram, type Metric } from '#model';
import { openMetrics } from './admin-server.js';

const latency = new Histogram([0.1, 1]);
for (const value of [0.05, 0.1, 0.5, 7]) latency.add(value);

describe('OpenMetrics text', () => {
  it.each<[Metric, string[]]>([
    [counter('points', 'Points.', () => 3), ['# TYPE points counter', '# HELP points Points.', 'points_total 3']],
    [
      gauge('queue_bytes', 'Held.', () => Promise.resolve(1.5)),
      ['# TYPE queue_bytes gauge', '# UNIT queue_bytes bytes', '# HELP queue_bytes Held.', 'queue_bytes 1.5'],
    ],
    [
      counter('requests', 'Answered.', () => [{ labels: { route: 'a"b\\c\n', status: '200' }, value: 1 }]),
      ['# TYPE requests counter', '# HELP requests Answered.', String.raw`requests_total{route="a\"b\\c\n",status="200"} 1`],
    ],
    [
      histogram('latency_seconds', 'Time.', () => latency),
      [
        '# TYPE latency_seconds histogram',
        '# UNIT latency_seconds seconds',
        '# HELP latency_seconds Time.',
        'latency_seconds_bucket{le="0.1"} 2',
        'latency_seconds_bucket{le="1"} 3',
        'latency_seconds_bucket{le="+Inf"} 4',
        'latency_seconds_sum 7.65',
        'latency_seconds_count 4',
      ],
    ],
    [
      histogram('took', 'Time.', () => [{ labels: { route: '/a' }, value: latency }]),
      [
        '# TYPE took histogram',
        '# HELP took Time.',
        'took_bucket{route="/a",le="0.1"} 2',
        'took_bucket{route="/a",le="1"} 3',
        'took_bucket{route="/a",le="+Inf"} 4',
        'took_sum{route="/a"} 7.65',
        'took_count{route="/a"} 4',
      ],
    ],
  ])('of %j', async (metric, lines) => {
    expect(await openMetrics([metric])).toBe([...lines, '# EOF', ''].join('\n'));
  });

  it.each<[string, Metric['read']]>([
    ['cannot be read now', () => Promise.reject(new Error('away'))],
    ['nobody answers', () => new Promise(() => undefined)],
  ])('leaves out a figure that %s, and no other', async (_, read) => {
    const broken: Metric = gauge('lag', 'Lag.', read as () => Promise<number>);
    const whole: Metric = counter('points', 'Points.', () => 3);
    expect(await openMetrics([broken, whole], 20)).toBe(
      '# TYPE lag gauge\n# HELP lag Lag.\n# TYPE points counter\n# HELP points Points.\npoints_total 3\n# EOF\n',
    );
  });
});
