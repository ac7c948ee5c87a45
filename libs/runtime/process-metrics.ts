import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metric } from '#model';

const manifest = new URL('../../../package.json', import.meta.url);

/** What the process itself costs. Call `stop` when nobody looks any more. */
export function processMetrics(): { readonly metrics: readonly Metric[]; stop(): void } {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const seconds = (nanoseconds: number): number => nanoseconds / 1e9;
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  const metrics: Metric[] = [
    {
      name: 'headwater_build_info',
      kind: 'gauge',
      unit: '',
      help: 'Always 1; its labels say which version runs, and on which Node.',
      read: () => [{ labels: { version, node: process.versions.node }, value: 1 }],
    },
    {
      name: 'process_start_time_seconds',
      kind: 'gauge',
      unit: 'seconds',
      help: 'When the process started, in Unix seconds.',
      read: () => performance.timeOrigin / 1000,
    },
    {
      name: 'process_cpu_seconds',
      kind: 'counter',
      unit: 'seconds',
      help: 'CPU time of all threads, user and system.',
      read: () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1e6;
      },
    },
    {
      name: 'process_resident_memory_bytes',
      kind: 'gauge',
      unit: 'bytes',
      help: 'Memory of the process that is in RAM.',
      read: () => process.memoryUsage.rss(),
    },
    {
      name: 'headwater_heap_bytes',
      kind: 'gauge',
      unit: 'bytes',
      help: 'JavaScript heap in use and buffers beside it, of the main thread.',
      read: () => {
        const { heapUsed, external } = process.memoryUsage();
        return [
          { labels: { part: 'heap' }, value: heapUsed },
          { labels: { part: 'external' }, value: external },
        ];
      },
    },
    {
      name: 'headwater_event_loop_delay_seconds',
      kind: 'gauge',
      unit: 'seconds',
      help: 'How late the event loop of the main thread came to its timers since the last look; 10 ms of it are the measuring itself.',
      read: () => {
        const samples = [
          { labels: { quantile: '0.5' }, value: seconds(delay.percentile(50)) },
          { labels: { quantile: '0.99' }, value: seconds(delay.percentile(99)) },
          { labels: { quantile: '1' }, value: seconds(delay.max) },
        ];
        delay.reset();
        return samples;
      },
    },
  ];
  return { metrics, stop: () => void delay.disable() };
}
