import { Injectable } from '@nestjs/common';
import { Questions, rowsIn } from '#edge';
import { automaticInterval, intervalMs, maxRows, type Window } from '#model';
import type { BucketColumns } from '#stores';

/** What charts of some metrics are drawn of. */
export interface ReadBuckets {
  /** Size of the buckets, milliseconds. */
  readonly sizeMs: number;
  of(metric: string): BucketColumns;
}

const none = new Float64Array(0);
const noBuckets: BucketColumns = { timestampMs: none, min: none, max: none, avg: none, count: none };

/** Reads what charts are drawn of. */
@Injectable()
export class BucketReader {
  constructor(private readonly questions: Questions) {}

  /** Rejects `store_unavailable`. Asks for so few metrics at once that no answer has more rows than one may have. */
  async read(orgId: string, sourceId: string, metrics: readonly string[], window: Window): Promise<ReadBuckets> {
    const interval = automaticInterval(window, '1m');
    const rows = Math.ceil(rowsIn(window, interval)) + 1;
    const together = Math.max(1, Math.floor(maxRows / rows));
    const answers = await Promise.all(
      Array.from({ length: Math.ceil(metrics.length / together) }, (_, nth) => {
        const some = metrics.slice(nth * together, (nth + 1) * together);
        const query = { orgId, sourceId, metrics: some, window, interval, limit: maxRows };
        return this.questions.ask(orgId, rows * some.length, ({ series }) => series.buckets(query));
      }),
    );
    const found = new Map(answers.flatMap(({ series }) => series.map((one) => [one.metric, one])));
    return { sizeMs: intervalMs[interval], of: (metric) => found.get(metric) ?? noBuckets };
  }
}
