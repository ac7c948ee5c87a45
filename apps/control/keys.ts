import { z } from 'zod';
import { scopes, type ApiKey } from '#model';

const scopeList = z.array(z.enum(scopes)).meta({
  description: '`write`: send points. `read`: nothing more than any key may, which is to read. `admin`: manage keys.',
  examples: [['read', 'write']],
});

/** The body that asks for a key. */
export const newKey = z
  .object({
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .refine((name) => /^\P{Cc}*$/u.test(name), 'must have no control characters')
      // As every dialect of regular expressions reads it: Python has no `\P`.
      .meta({
        pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f]*$`,
        description: 'What the key is for, so that people know it in the list. 1 to 100 characters.',
        examples: ['pump-7'],
      }),
    scopes: scopeList.min(1).optional().meta({ description: 'What the key may do. Without it: `write`.' }),
  })
  .meta({ id: 'NewApiKey' });

/** A key as it is listed: never the key itself. */
export const listedKey = z
  .object({
    id: z.string().meta({ examples: ['key_5f2a9c01b7d34e68a0c1f2e3'] }),
    name: z.string(),
    prefix: z.string().meta({ description: 'The first 8 characters of the key.' }),
    suffix: z.string().meta({ description: 'The last 4 characters of the key.' }),
    scopes: scopeList,
    created_ms: z.int().meta({ description: 'Unix milliseconds.' }),
  })
  .meta({ id: 'ApiKey' });

/** The answer to a new key. */
export const createdKey = listedKey
  .extend({ api_key: z.string().meta({ description: 'The key. It is shown here and never again: store it now.' }) })
  .meta({ id: 'CreatedApiKey' });

export function toListed({ keyId, name, prefix, suffix, scopes: granted, createdMs }: ApiKey): z.output<typeof listedKey> {
  return { id: keyId, name, prefix, suffix, scopes: [...granted], created_ms: createdMs };
}
