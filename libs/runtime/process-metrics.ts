import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { counter, gauge, type Metric } from '#model';

const manifest = new URL('../../../package.json', import.meta.url);

/** What the process itself costs. Call `stop` when nobody looks any more. */
export function processMetrics(): { readonly metrics: readonly Metric[]; stop(): void } {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const seconds = (nanoseconds: number): number => nanoseconds / 1e9;
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  const metrics: Metric[] = [
    gauge('headwater_build_info', 'Always 1; its labels say which version runs, and on which Node.', () => [
      { labels: { version, node: process.versions.node }, value: 1 },
    ]),
    gauge('process_start_time_seconds', 'When the process started, in Unix seconds.', () => performance.timeOrigin / 1000),
    counter('process_cpu_seconds', 'CPU time of all threads, user and system.', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    gauge('process_resident_memory_bytes', 'Memory of the process that is in RAM.', () => process.memoryUsage.rss()),
    gauge('headwater_heap_bytes', 'JavaScript heap in use and buffers beside it, of the main thread.', () => {
      const { heapUsed, external } = process.memoryUsage();
      return [
        { labels: { part: 'heap' }, value: heapUsed },
        { labels: { part: 'external' }, value: external },
      ];
    }),
    gauge(
      'headwater_event_loop_delay_seconds',
      'How late the event loop of the main thread came to its timers since the last look; 10 ms of it are the measuring itself.',
      () => {
        const samples = [
          { labels: { quantile: '0.5' }, value: seconds(delay.percentile(50)) },
          { labels: { quantile: '0.99' }, value: seconds(delay.percentile(99)) },
          { labels: { quantile: '1' }, value: seconds(delay.max) },
        ];
        delay.reset();
        return samples;
      },
    ),
  ];
  return { metrics, stop: () => void delay.disable() };
}
