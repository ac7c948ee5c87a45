import { z } from 'zod';
import { parseLimit, type AuditEntry } from '#model';

export const auditQuery = z.object({
  limit: z
    .string()
    .transform((text) => parseLimit(text, 'limit'))
    .optional()
    .meta({ type: 'integer', minimum: 1, maximum: 10_000, description: 'How many entries at most; 100 without it.' }),
  before: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'Only what is older than the entry with this id: `next` of the answer before.' }),
});

export const auditEntry = z
  .object({
    id: z.string(),
    at_ms: z.int().meta({ description: 'Unix milliseconds.' }),
    by: z.object({
      id: z.string().meta({ description: 'Id of an account or of a key, or `operator`; empty where nobody knows.' }),
      name: z.string().meta({ description: 'The address of the person, or the name of the key.' }),
    }),
    did: z.string().meta({ description: 'What was changed, in a word that keeps its meaning.', examples: ['monitor.created'] }),
    about: z.string().meta({ description: 'Id of the thing.' }),
    text: z.string().meta({ description: 'The change in words, for people.' }),
  })
  .meta({ id: 'AuditEntry' });

export const auditList = z
  .object({
    entries: z.array(auditEntry),
    next: z.string().nullable().meta({ description: 'For `before` of the next question; null when there are no more.' }),
  })
  .meta({ id: 'AuditLog' });

export const toAuditEntry = ({ id, atMs, by, did, about, text }: AuditEntry): z.output<typeof auditEntry> => ({
  id,
  at_ms: atMs,
  by: { id: by.id, name: by.name },
  did,
  about,
  text,
});
