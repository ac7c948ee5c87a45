import type { BucketAnswer, FleetAnswer, RawAnswer } from '#stores';
import { type Interval, type RollupInterval, type Tags, tagsOf } from '#model';
import { JsonText } from './json-text.js';

/** An answer in pieces; the last one is what the generator returns. */
export type Pieces = Generator<Buffer, Buffer>;

/** The answer to a historical query. */
interface SeriesResult {
  readonly interval: Interval;
  readonly autoDownsampled: boolean;
  readonly answer: RawAnswer | BucketAnswer;
}

export function* seriesJson({ interval, autoDownsampled, answer }: SeriesResult): Pieces {
  const json = new JsonText().text(`{"interval":"${interval}","auto_downsampled":${autoDownsampled},"series":{`);
  for (const [at, series] of answer.series.entries()) {
    json
      .text(at > 0 ? ',' : '')
      .string(series.metric)
      .text(':{"timestamp_ms":')
      .column(series.timestampMs);
    if ('value' in series) {
      json.text(',"value":').column(series.value);
      const tags = 'tags' in answer ? answer.tags?.[at] : undefined;
      if (tags) yield* tagsJson(json, tags);
    } else
      json
        .text(',"min":')
        .column(series.min)
        .text(',"max":')
        .column(series.max)
        .text(',"avg":')
        .column(series.avg)
        .text(',"count":')
        .column(series.count);
    json.text('}');
    if (json.isLong) yield json.bytes();
  }
  return json.text(`},"truncated":${answer.truncated}}`).bytes();
}

/** The tags of each row, which may be long. */
function* tagsJson(json: JsonText, rows: readonly Tags[]): Generator<Buffer, void> {
  const texts = new Map<Tags, string>();
  json.text(',"tags":[');
  for (const [at, tags] of rows.entries()) {
    let text = texts.get(tags);
    if (text === undefined) texts.set(tags, (text = JSON.stringify(tagsOf(tags))));
    json.text(at > 0 ? ',' : '').text(text);
    if (json.isLong) yield json.bytes();
  }
  json.text(']');
}

/** The answer for one metric over the fleet. */
interface FleetResult {
  readonly metric: string;
  readonly interval: RollupInterval;
  /** Ids of all sources of the organization that are online, with the metric or without. */
  readonly online: ReadonlySet<string>;
  readonly answer: FleetAnswer;
}

export function* fleetJson({ metric, interval, online, answer }: FleetResult): Pieces {
  const { sources, truncated } = answer;
  const { timestampMs, avg, min, max, count } = answer.columns;
  const json = new JsonText().text('{"metric":').string(metric);
  json.text(`,"interval":"${interval}","sources_online":${online.size},"sources_w_metric":${sources.length},"sources":[`);
  let from = 0;
  for (const [at, { sourceId, rows }] of sources.entries()) {
    const to = from + rows;
    json.text(at > 0 ? ',{"source_id":' : '{"source_id":').string(sourceId);
    json.text(online.has(sourceId) ? ',"online":true,"timestamp_ms":' : ',"online":false,"timestamp_ms":').column(timestampMs, from, to);
    json.text(',"avg":').column(avg, from, to).text(',"min":').column(min, from, to);
    json.text(',"max":').column(max, from, to).text(',"count":').column(count, from, to).text('}');
    from = to;
    if (json.isLong) yield json.bytes();
  }
  return json.text(`],"truncated":${truncated}}`).bytes();
}

/** The newest value of each metric. */
export function* latestJson(values: readonly (readonly [metric: string, value: number])[]): Pieces {
  const json = new JsonText().text('{"metrics":{');
  for (const [at, [metric, value]] of values.entries()) {
    json
      .text(at > 0 ? ',' : '')
      .string(metric)
      .text(`:${value}`);
    if (json.isLong) yield json.bytes();
  }
  return json.text('}}').bytes();
}

/** An array of items, each of them as JSON. */
export function* arrayJson<T>(items: readonly T[], write: (item: T, json: JsonText) => void): Pieces {
  const json = new JsonText().text('[');
  for (const [at, item] of items.entries()) {
    if (at > 0) json.text(',');
    write(item, json);
    if (json.isLong) yield json.bytes();
  }
  return json.text(']').bytes();
}
