import { entry, type RecordLog } from '#log';
import type { Alert, AlertBatch, Monitor } from '#model';
import { alerts, monitors } from '#topics';
import type { ApiClient, EntryJson } from '../http/client.js';
import { LogReader } from '../log-reader.js';
import type { Acknowledged } from './ledger.js';
import { deviceId, loadBody, loadMetrics, type Load } from './load.js';

const max = 90;
const condition = { min: null, max, clearMin: null, clearMax: null, forMs: 0, severity: 'warning', message: '' } as const;

/** A load that has a monitor on each of the ten metrics of each device. */
export const watchedLoad = (seed: number, beginMs: number, devices: number): Load => ({
  seed,
  prefix: 'watched-',
  devices,
  pointsPerBody: 10,
  beginMs,
  everyMs: 1000,
  rewritten: 0,
});

/** Appends the definitions of the monitors, though nobody decides there. */
export async function watch(log: Pick<RecordLog, 'append'>, orgId: string, load: Load): Promise<void> {
  const definitions = Array.from({ length: load.devices }, (_, device) =>
    loadMetrics.map((metric): Monitor => {
      const sourceId = deviceId(load, device);
      const monitorId = `${sourceId}-${metric}`;
      return { orgId, monitorId, name: '', sourceId, metric, threshold: condition, offline: null, createdMs: 1, definedMs: 1 };
    }),
  );
  await log.append(definitions.flat().map((monitor) => entry(monitors, monitor)));
}

/** Every transition that follows from what was acknowledged, as lines in order. What is late, and what comes again, makes none. */
export function transitionsOf(load: Load, acknowledged: readonly Acknowledged[]): readonly string[] {
  const lines: string[] = [];
  const known = new Map<string, { newestMs: number; isOpen: boolean }>();
  for (const { device, at } of acknowledged.toSorted((a, b) => a.at - b.at)) {
    const newestBefore = new Map([...known].map(([name, { newestMs }]) => [name, newestMs]));
    for (const { metric, timestamp, value, class: kind } of loadBody(load, device, at).points.toSorted(
      (a, b) => a.timestamp - b.timestamp,
    )) {
      const name = `${deviceId(load, device)} ${metric}`;
      if (kind === 'event' || timestamp <= (newestBefore.get(name) ?? 0)) continue;
      const isOutside = (value as number) > max;
      if (isOutside !== (known.get(name)?.isOpen ?? false)) lines.push(`${name} ${isOutside ? 'fired' : 'inside'} ${timestamp}`);
      known.set(name, { newestMs: timestamp, isOpen: isOutside });
    }
  }
  return lines.sort();
}

/**
 * Every transition in `alerts.v1`, as lines in order, each once, how many came more than once, and their names, as a target is told them.
 *
 * @throws Error when a transition that comes again says something else.
 */
export async function transitionsIn(
  log: RecordLog,
  { prefix }: Pick<Load, 'prefix'>,
): Promise<{ readonly lines: readonly string[]; readonly again: number; readonly names: readonly string[] }> {
  const reader = LogReader.of(log, { topics: [alerts], from: 'beginning', to: 'end' });
  await reader.following.caughtUp();
  const seen = new Map<string, string>();
  let again = 0;
  for (const { value } of reader.records) {
    const batch = value as AlertBatch;
    if (!batch.sourceId.startsWith(prefix)) continue;
    for (const alert of batch.alerts) {
      const name = `${alert.alertId} ${alert.resolvedMs === null ? 'triggered' : 'resolved'}`;
      const text = JSON.stringify(alert);
      if (seen.has(name)) again++;
      if ((seen.get(name) ?? text) !== text) throw new Error(`${seen.get(name)} was told again as ${text}`);
      seen.set(name, text);
    }
  }
  return { lines: Array.from(seen.values(), (text) => lineOf(JSON.parse(text) as Alert)).sort(), again, names: [...seen.keys()].sort() };
}

const lineOf = ({ sourceId, metric, resolution, resolvedMs, triggeredMs }: Alert): string =>
  `${sourceId} ${metric} ${resolution ?? 'fired'} ${resolvedMs ?? triggeredMs}`;

/** Every transition among the events of the devices, as lines in order. */
export async function transitionsInLogs(client: ApiClient, load: Load): Promise<readonly string[]> {
  const devices = Array.from({ length: load.devices }, (_, device) => deviceId(load, device));
  const lines: string[] = [];
  for (const sourceId of devices) {
    for (const [name, word] of [
      ['alert.triggered', 'fired'],
      ['alert.resolved', ''],
    ] as const) {
      // prettier-ignore
      const entries = await client.json<EntryJson[]>(`/v1/sources/${sourceId}/logs?name=${name}&tail=10000`);
      for (const { timestamp_ms: atMs, value } of entries) {
        const { metric, resolved_by: way } = JSON.parse(value) as Record<string, string>;
        lines.push(`${sourceId} ${metric} ${word || way} ${atMs}`);
      }
    }
  }
  return lines.sort();
}
