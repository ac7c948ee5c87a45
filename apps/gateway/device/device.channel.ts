import { z } from 'zod';
import { closeCodes, sentPoint, sourceIdSchema, type Channel } from '#edge';
import { commandIdPattern, maxCommandNameChars, maxPoints } from '#model';
import { maxRuns, resultEvents, runStates } from './command-messages.js';
import { deviceErrorCodes } from './replies.js';

const type = <T extends string>(name: T) => z.literal(name);
const commandId = z.string().meta({ pattern: commandIdPattern.source, description: 'As it came with the command.' });
const commandName = z.string().min(1).max(maxCommandNameChars);
const params = z.looseObject({}).meta({ description: 'As they were sent; at most 64 KiB.' });
const seq = z.int().min(1).meta({ description: 'Number of the frame, from 1 on each connection.' });
const statusSeq = z.int().meta({ description: 'Number of the status within its run. It has nothing to do with that of frames.' });

const takes: Channel['takes'] = {
  device_auth: {
    summary: 'The first frame, within 10 seconds and of at most 64 KiB',
    schema: z.looseObject({
      type: type('device_auth'),
      api_key: z.string().meta({ description: 'A key with the scope `write` that is for this source.' }),
      source_id: sourceIdSchema,
      acks: z.boolean().optional().meta({ description: '`true`: the device numbers its frames and is told which are durable.' }),
      protocol: z.int().optional().meta({ description: '1: commands of the manifest come as `command_run`.' }),
      commands: z
        .union([z.array(z.union([z.string(), z.looseObject({ name: z.string() })])), z.record(z.string(), z.unknown())])
        .optional()
        .meta({
          description:
            'The manifest of commands: names, objects with a `name`, or an object whose keys are the names. The first 256 are heard.',
        }),
      platform: z.string().optional(),
      agent_version: z.string().optional(),
      hears_goodbye: z.boolean().optional(),
    }),
    examples: [
      { type: 'device_auth', api_key: 'hw_…', source_id: 'greenhouse', acks: true },
      { type: 'device_auth', api_key: 'hw_…', source_id: 'greenhouse', acks: true, protocol: 1, commands: [{ name: 'calibrate' }] },
    ],
  },
  telemetry: {
    summary: 'Points and events, as the body of `POST /ingest`: all of them or none',
    schema: z.looseObject({
      type: type('telemetry'),
      seq: seq.optional(),
      points: z.array(sentPoint).max(maxPoints).meta({ description: 'All are of the source of the connection, whatever they say.' }),
    }),
    examples: [
      { type: 'telemetry', seq: 1, points: [{ metric: 'air.temperature', value: 21.5, timestamp: 1769860800000 }] },
      { type: 'telemetry', seq: 2, points: [{ metric: 'door', class: 'event', value: 'open', timestamp: 1769860800000 }] },
    ],
  },
  heartbeat: { summary: 'A sign of life', schema: z.looseObject({ type: type('heartbeat') }), examples: [{ type: 'heartbeat' }] },
  pong: { summary: 'Taken and ignored', schema: z.looseObject({ type: type('pong') }), examples: [{ type: 'pong' }] },
  command_result: {
    summary: 'What became of a `typed_command`',
    schema: z.looseObject({
      type: type('command_result'),
      id: commandId,
      command: z.string().optional(),
      event: z.enum(resultEvents).meta({ description: '`ack`: the device has it. `result` and `error`: how it ended.' }),
      result: z.unknown().optional(),
      error: z.unknown().optional(),
    }),
    examples: [
      { type: 'command_result', id: '0mk3x9qf5Qm1kZr8Yd0bVtW2a', command: 'reboot', event: 'ack' },
      { type: 'command_result', id: '0mk3x9qf5Qm1kZr8Yd0bVtW2a', command: 'reboot', event: 'result', result: { up_s: 3 } },
    ],
  },
  command_status: {
    summary: 'How a `command_run` goes; answered with `command_status_ack`',
    schema: z.looseObject({
      type: type('command_status'),
      run_id: commandId,
      seq: statusSeq,
      state: z.enum(runStates),
      result: z.unknown().optional(),
      error_code: z.string().optional(),
      error_message: z.string().optional(),
      progress: z.unknown().optional(),
      message: z.string().optional(),
    }),
    examples: [{ type: 'command_status', run_id: '0mk3x9qf5Qm1kZr8Yd0bVtW2a', seq: 2, state: 'succeeded', result: { offset: 0.25 } }],
  },
  command_sync: {
    summary: 'Which runs the device knows of, after it has connected again',
    schema: z.looseObject({
      type: type('command_sync'),
      runs: z.array(z.looseObject({ run_id: commandId })).max(maxRuns),
    }),
    examples: [{ type: 'command_sync', runs: [{ run_id: '0mk3x9qf5Qm1kZr8Yd0bVtW2a', state: 'running', seq: 1 }] }],
  },
};

const sends: Channel['sends'] = {
  authenticated: {
    summary: 'The first frame: the device is let in, and online',
    schema: z.object({
      type: type('authenticated'),
      source_id: sourceIdSchema,
      server_time_ms: z.int().meta({ description: 'Unix milliseconds.' }),
      acks: z.literal(true).optional().meta({ description: 'There exactly when the device asked for acknowledgements.' }),
    }),
    examples: [{ type: 'authenticated', source_id: 'greenhouse', server_time_ms: 1769860800000, acks: true }],
  },
  telemetry_ack: {
    summary: 'Every frame up to this number is settled: durable, or refused by an error before',
    schema: z.object({ type: type('telemetry_ack'), seq }),
    examples: [{ type: 'telemetry_ack', seq: 2 }],
  },
  error: {
    summary: 'A frame was refused, or the server cannot go on',
    schema: z.object({
      type: type('error'),
      code: z.enum(deviceErrorCodes),
      detail: z.string().meta({ description: 'A sentence that says what to change.' }),
      seq: seq.optional().meta({ description: 'Of the refused frame. Every frame before it is settled too.' }),
    }),
    examples: [{ type: 'error', code: 'INVALID_MESSAGE', detail: 'Give the point a metric name.', seq: 3 }],
  },
  refused: {
    summary: 'The device is not let in, or not any more; the socket is closed with 1008',
    schema: z.object({ type: type('error'), message: z.string() }),
    examples: [{ type: 'error', message: 'Send device_auth with a valid API key and a source_id as the first frame, within 10 seconds.' }],
  },
  typed_command: {
    summary: 'A command; answered with `command_result`',
    schema: z.object({ type: type('typed_command'), id: commandId, command: commandName, params }),
    examples: [{ type: 'typed_command', id: '0mk3x9qf5Qm1kZr8Yd0bVtW2a', command: 'reboot', params: { delay_s: 5 } }],
  },
  command_run: {
    summary: 'A command that the manifest of the device lists; answered with `command_status`',
    schema: z.object({
      type: type('command_run'),
      run_id: commandId,
      command: commandName,
      params,
      ttl_ms: z.int().min(0).meta({ description: 'Milliseconds after which the answer is of no use.' }),
      attempt: z.literal(1),
    }),
    examples: [{ type: 'command_run', run_id: '0mk3x9qf5Qm1kZr8Yd0bVtW2a', command: 'calibrate', params: {}, ttl_ms: 30000, attempt: 1 }],
  },
  command_status_ack: {
    summary: 'The status is durable: the device need not send it again',
    schema: z.object({ type: type('command_status_ack'), run_id: commandId, seq: statusSeq }),
    examples: [{ type: 'command_status_ack', run_id: '0mk3x9qf5Qm1kZr8Yd0bVtW2a', seq: 2 }],
  },
};

/** What the AsyncAPI document says of the channel of devices. */
export const deviceChannel: Channel = {
  id: 'device',
  path: '/ws/device',
  title: 'Devices that stay connected',
  description:
    'Frames are JSON objects in text, up to 5 MiB. The first one lets the device in; it is online from `authenticated` until its last connection ends. ' +
    'Telemetry goes the way of `POST /ingest`. A device that asked for acknowledgements numbers its frames. Acknowledgements and errors come in the order of the frames; ' +
    'whatever is not settled when the connection ends, the device sends again on the next one, and what has timestamps is stored once. ' +
    'A device that is too fast is slowed down by not reading its socket. The server pings every 30 seconds; two pings without an answer end the connection. ' +
    'A server that cannot reach its log answers the request for a WebSocket with 503.',
  takes,
  sends,
  closes: {
    [closeCodes.goingAway]: 'The server stops, after its last acknowledgements: connect again.',
    [closeCodes.unsupportedData]: 'A binary frame.',
    1007: 'Text that is not UTF-8.',
    [closeCodes.policy]:
      'The device is not let in, or its key was deleted; the frame `refused` says why. Or a frame in more than 16 fragments.',
    [closeCodes.tooLarge]: 'A frame of more than 5 MiB, or a first one of more than 64 KiB.',
    [closeCodes.internal]: 'A mistake of the server.',
    [closeCodes.tryLater]:
      'The log cannot be reached, or there is no room: connect again after a while. The frame `error` says which. `DEVICE_LIMIT`: 16 connections of the source are open here, or too many of the key, or its organization or key is over a rate.',
  },
};
