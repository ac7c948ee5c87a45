import { waitingLetters, type AnyTopic, type LetterPlaces, type LogViews } from '#log';
import { counter, gauge, histogram, type Metric } from '#model';
import type { SendQueue } from './send/send-queue.js';

/** The figures of what is on its way into the log and into the views. */
export function kafkaMetrics(queue: SendQueue, views: LogViews, letters: LetterPlaces, topics: readonly AnyTopic[]): readonly Metric[] {
  return [
    gauge('headwater_log_queue_bytes', 'Records that wait for the log or are on their way into it.', () => queue.figures().bytes),
    counter('headwater_log_sent_records', 'Records that the log has taken since the start.', () => queue.figures().records),
    counter(
      'headwater_log_send_failures',
      'Sends that failed since the start; what was in them was sent again.',
      () => queue.figures().failures,
    ),
    histogram('headwater_log_send_seconds', 'Time that a send took until every record in it was durable.', () => queue.sendSeconds),
    waitingLetters(letters, topics),
    gauge('headwater_view_lag_records', 'Records of a compacted topic that its view does not show yet.', () =>
      views.lags().map(([topic, value]) => ({ labels: { topic }, value })),
    ),
  ];
}
