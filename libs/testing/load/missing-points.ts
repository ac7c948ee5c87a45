import type { SentPoint } from '../exactness/world.js';
import type { ApiClient, EntryJson, QueryJson } from '../http/client.js';
import type { Acknowledged } from './ledger.js';
import { deviceId, loadBody, type Load } from './load.js';

/** The points and events of a body that the service does not show now. A point may have its value of the next body already. */
export async function missingPoints(client: ApiClient, load: Load, { device, at }: Acknowledged): Promise<readonly SentPoint[]> {
  const { points } = loadBody(load, device, at);
  const next = loadBody(load, device, at + 1).points;
  const times = points.map(({ timestamp }) => timestamp);
  const window = `start=${new Date(Math.min(...times)).toISOString()}&end=${new Date(Math.max(...times) + 1).toISOString()}`;
  const path = `/v1/sources/${deviceId(load, device)}`;
  const { series } = await client.json<QueryJson>(`${path}/metrics/query?interval=raw&${window}`);
  const entries = await client.json<EntryJson[]>(`${path}/logs?limit=10000&${window}`);
  return points.filter(({ class: kind, metric, timestamp, value }) => {
    if (kind === 'event') return !entries.some((entry) => entry.timestamp_ms === timestamp && entry.value === JSON.stringify(value));
    const stored = series[metric]?.value?.[series[metric].timestamp_ms.indexOf(timestamp)];
    return stored !== value && !next.some((one) => one.metric === metric && one.timestamp === timestamp && one.value === stored);
  });
}
