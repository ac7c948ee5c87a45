import { z } from 'zod';
import type { Operation } from '#edge';

const probe = { method: 'get', tag: 'About', access: { key: false, body: false } } as const;
const live = { 200: { description: 'The process answers.', schema: z.object({ status: z.literal('ok') }) } };
const ready = z.object({
  status: z.literal('ready'),
  reasons: z.array(z.string()).length(0),
  warnings: z.array(z.string()).describe('What an operator should know all the same, such as records that cannot be read.'),
});

/** What every role answers to probes. */
export const healthOperations: readonly Operation[] = [
  { ...probe, id: 'getHealth', path: '/health', summary: 'Does the process live?', answers: live },
  { ...probe, id: 'getLiveness', path: '/health/live', summary: 'Does the process live?', answers: live },
  {
    ...probe,
    id: 'getReadiness',
    path: '/health/ready',
    summary: 'Should requests be sent here?',
    answers: { 200: { description: 'Yes.', schema: ready } },
    errors: ['not_ready'],
  },
];
