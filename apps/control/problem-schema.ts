import { z } from 'zod';
import { errorCases, flawCases, type ErrorCode, type FlawCode } from '#model';

const flawCodes: readonly (FlawCode | 'invalid_body')[] = [...(Object.keys(flawCases) as FlawCode[]), 'invalid_body'];

const flaw = z.object({
  pointer: z.string().meta({ description: 'JSON pointer (RFC 6901) into the body.' }),
  code: z.enum(flawCodes).meta({ description: '`GET /errors/{code}` explains these too.' }),
  detail: z.string().meta({ description: 'A sentence that says what to change.' }),
});

/** What every error looks like. */
export const problemSchema = z
  .object({
    type: z.string().meta({ description: 'Address of the page about the code.', format: 'uri-reference' }),
    title: z.string().meta({ description: 'Says the same for every error of this code.' }),
    status: z.int().min(400).max(599),
    detail: z.string().meta({ description: 'A sentence that says what to change.' }),
    code: z.enum(Object.keys(errorCases) as ErrorCode[]),
    error: z.string().meta({ description: 'The same sentence as `detail`, for older clients.' }),
    request_id: z.string(),
    errors: z.array(flaw).max(20).optional().meta({ description: 'The first 20 things that are wrong with the body.' }),
    reasons: z.array(z.string()).optional().meta({ description: 'With `not_ready`: what the server waits for.' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457.' });
