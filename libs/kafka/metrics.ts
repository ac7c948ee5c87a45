import { waitingLetters, type AnyTopic, type LogViews } from '#log';
import type { Metric } from '#model';
import type { KafkaLetterPlaces } from './letter-places.js';
import type { SendQueue } from './send-queue.js';

/** The figures of what is on its way into the log and into the views. */
export function kafkaMetrics(
  queue: SendQueue,
  views: LogViews,
  letters: KafkaLetterPlaces,
  topics: readonly AnyTopic[],
): readonly Metric[] {
  return [
    {
      name: 'headwater_log_queue_bytes',
      kind: 'gauge',
      unit: 'bytes',
      help: 'Records that wait for the log or are on their way into it.',
      read: () => queue.figures().bytes,
    },
    {
      name: 'headwater_log_sent_records',
      kind: 'counter',
      unit: '',
      help: 'Records that the log has taken since the start.',
      read: () => queue.figures().records,
    },
    {
      name: 'headwater_log_send_failures',
      kind: 'counter',
      unit: '',
      help: 'Sends that failed since the start; what was in them was sent again.',
      read: () => queue.figures().failures,
    },
    {
      name: 'headwater_log_send_seconds',
      kind: 'histogram',
      unit: 'seconds',
      help: 'Time that a send took until every record in it was durable.',
      read: () => queue.sendSeconds,
    },
    waitingLetters(letters, topics),
    {
      name: 'headwater_view_lag_records',
      kind: 'gauge',
      unit: '',
      help: 'Records of a compacted topic that its view does not show yet.',
      read: () => views.lags().map(([topic, value]) => ({ labels: { topic }, value })),
    },
  ];
}
