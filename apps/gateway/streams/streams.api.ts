import { z } from 'zod';
import { sourceParams, type Operation } from '#edge';
import { logStreamQuery, metricStreamQuery } from './wanted.js';

const stream = {
  method: 'get',
  tag: 'Live streams',
  access: { stream: true, may: 'read' },
  params: sourceParams,
} as const;

const about =
  'Two ways over the same path. A request for a WebSocket is answered by one: its first frame, within 10 seconds, is ' +
  '`{"type":"auth","api_key":"…"}`, and then the server sends frames. Any other request, with the key in its header, is answered by events ' +
  '(`text/event-stream`) without an end, whose data is what the frames are and whose id is a cursor.\n\n' +
  'A page of this server reads them with the session of whoever has signed in, and no key: with `EventSource`, or behind a first frame ' +
  '`{"type":"auth"}`. The stream ends within 10 seconds of the session.\n\n' +
  'With `cursor=1` every frame of a WebSocket carries a `cursor`. Whoever comes back with the last one as `after`, or as `Last-Event-ID`, gets what ' +
  'it missed, once and in order, for an hour and for 100,000 records (those of all devices in the log of a single process, those of the partition in Kafka); ' +
  'beyond that the first frame is `{"type":"gap","from":…,"to":…}` in Unix milliseconds, and queries have the rest. `{"type":"cursor","cursor":"…"}`, or an event without data, moves the cursor where nothing else is sent.\n\n' +
  '`{"type":"gateway_reconnecting","attempt":…,"delay_s":…}` says that the log is away. A WebSocket is closed with 4401 (the key or session is missing, late, ' +
  'not valid, over, or may not read), 4402 (no payment method), 1009 (a frame of more than 64 KiB), 1011 (the log cannot be read), 1013 (too slow, or too many ' +
  'streams) or 1001 (the server stops); events end with an event named `close` that says the same code.';

const answer = (description: string): Operation['answers'] => ({
  200: { description, schema: z.string(), mediaType: 'text/event-stream' },
});

/** What the OpenAPI document says of the live streams. */
export const streamOperations: readonly Operation[] = [
  {
    ...stream,
    id: 'streamMetrics',
    path: '/v1/sources/{source_id}/metrics/stream',
    summary: 'Watch metrics live',
    description: `The points of a device as they are accepted. A device that nobody has is silent.\n\n${about}`,
    query: metricStreamQuery,
    answers: answer(
      'Messages `{"type":"telemetry","points":[{"source_id","class":"metric","metric","value","timestamp","tags"?}]}`, at most one every 25 ' +
        'milliseconds unless they are large. A reader without cursors that does not keep up gets the newest value of each metric.',
    ),
    errors: ['invalid_source_id', 'invalid_metric', 'invalid_parameter', 'invalid_request', 'over_rate'],
  },
  {
    ...stream,
    id: 'streamLogs',
    path: '/v1/sources/{source_id}/logs/stream',
    summary: 'Watch events live',
    description: `The events of a device as they are accepted. A device that nobody has is silent.\n\n${about}`,
    query: logStreamQuery,
    answers: answer(
      'Messages `{"type":"event","source_id","class":"event","metric","value","timestamp","tags"?}`, one for each event; `value` has the type that was sent.',
    ),
    errors: ['invalid_source_id', 'invalid_parameter', 'invalid_request', 'over_rate'],
  },
];
