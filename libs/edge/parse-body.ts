import { TelemetryError, type PointBatch } from '#model';

/** The least parser that lets a point through. */
export function parseBody(bytes: Buffer, orgId: string, receivedMs: number): { count: number; points: PointBatch[] } {
  let body: { source_id?: string; points?: { metric: string; value: number; timestamp?: number }[] };
  try {
    body = JSON.parse(bytes.toString());
  } catch (cause) {
    throw new TelemetryError('invalid_json', 'Send one JSON value encoded as UTF-8.', { cause });
  }
  const sent = body.points ?? [];
  const series = sent.map((point) => ({
    metric: point.metric,
    tags: {},
    timestampMs: Float64Array.of(point.timestamp ?? receivedMs),
    value: Float64Array.of(point.value),
  }));
  return { count: sent.length, points: series.length > 0 ? [{ orgId, sourceId: body.source_id ?? '', receivedMs, series }] : [] };
}
