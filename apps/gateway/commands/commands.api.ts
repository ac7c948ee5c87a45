import { z } from 'zod';
import { sourceParams, type Operation } from '#edge';
import { maxCommandNameChars } from '#model';

export const commandBody = z
  .looseObject({
    command: z
      .string()
      .min(1)
      .max(maxCommandNameChars)
      .refine((name) => name.isWellFormed(), 'Send the name as Unicode without lone surrogates')
      .meta({ description: 'What the device shall do.', examples: ['reboot'] }),
    params: z
      .looseObject({})
      .nullish()
      .meta({ description: 'Handed to the device as it is; at most 64 KiB as JSON. Empty when left out.', examples: [{ delay_s: 5 }] }),
  })
  .meta({ id: 'CommandBody', description: 'Unknown fields are ignored.', examples: [{ command: 'reboot', params: { delay_s: 5 } }] });

export const commandReceipt = z
  .object({
    queued: z.boolean().meta({
      description:
        'True: the command was handed to the open connection of the device. False: the device has no connection, or has 64 commands that it has not answered, and never gets this one.',
    }),
    id: z.string().optional().meta({ description: 'Of the command, when it was handed over: its outcomes carry it.' }),
  })
  .meta({ id: 'CommandReceipt' });

export const commandOperations: readonly Operation[] = [
  {
    id: 'sendCommand',
    method: 'post',
    path: '/v1/sources/{source_id}/commands',
    tag: 'Devices',
    summary: 'Send a command to a device',
    description:
      'The device gets it once, on its newest connection, or never. What it answers is stored among its logs as events named `command.result`, at the time at which the command was sent: `{"id", "command", "event", "result"?, "error"?}`, where `event` is `ack`, `result` or `error`. Answers 502 when no gateway has answered within 5 seconds, or the log could not be written: then the device may have got the command, or may still get it.',
    access: { changes: true },
    params: sourceParams,
    body: commandBody,
    answers: { 200: { description: 'What became of the command.', schema: commandReceipt } },
    errors: ['invalid_body', 'invalid_source_id', 'params_too_large', 'gateway_unreachable'],
  },
];
