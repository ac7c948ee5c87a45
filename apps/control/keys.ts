import { z } from 'zod';
import {
  boundSourcePattern,
  allSources,
  flawOfRights,
  maxBoundSources,
  mayAs,
  scopes,
  TelemetryError,
  type ApiKey,
  type Caller,
  type KeyUse,
  type Scope,
} from '#model';

const scopeList = z.array(z.enum(scopes)).meta({
  description:
    '`write`: send points. `read`: read, which any key may unless the organization enforces it. `admin`: manage keys and alert targets, and look into the audit log.',
  examples: [['read', 'write']],
});

export const sourcePatterns = z
  .array(z.string().regex(boundSourcePattern, 'must be a source id, the beginning of one and `*`, or `*`'))
  .meta({
    description:
      'The sources that the key is for: ids, or beginnings of ids that end with `*`. All others are to it as if nobody had them, and points of others are refused. `["*"]`: every source.',
    examples: [['press-7', 'line-a.*']],
  });

/** The schema of a name that somebody gives to something. */
export const givenName = (about: { readonly description?: string; readonly examples: string[] }) =>
  z
    .string()
    .trim()
    .min(1)
    .max(100)
    .refine((name) => /^\P{Cc}*$/u.test(name), 'must have no control characters')
    // As every dialect of regular expressions reads it: Python has no `\P`.
    .meta({ pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f]*$`, ...about });

export const keyName = givenName({
  description: 'What the key is for, so that people know it in the list. 1 to 100 characters.',
  examples: ['pump-7'],
});

/** The body that asks for a key. */
export const newKey = z
  .object({
    name: keyName,
    scopes: scopeList.min(1).default(['write']),
    sources: sourcePatterns
      .min(1)
      .max(maxBoundSources)
      .default([...allSources]),
  })
  .superRefine(({ scopes: granted, sources }, context) => {
    const flaw = flawOfRights(granted, sources);
    if (flaw) context.addIssue({ code: 'custom', path: ['scopes'], message: flaw });
  })
  .meta({ id: 'NewApiKey' });

/** @throws TelemetryError `missing_role` for a person who may make keys, but none that manages keys. */
export function checkMayGive({ person }: Caller, granted: readonly Scope[]): void {
  if (person && granted.includes('admin') && !mayAs(person.role, 'admin_keys'))
    throw new TelemetryError('missing_role', `Ask an owner of the organization: as ${person.role} you may not give a key the scope admin.`);
}

/** A key as it is listed: never the key itself. */
export const listedKey = z
  .object({
    id: z.string().meta({ examples: ['key_5f2a9c01b7d34e68a0c1f2e3'] }),
    name: z.string(),
    prefix: z.string().meta({ description: 'The first 8 characters of the key.' }),
    suffix: z.string().meta({ description: 'The last 4 characters of the key.' }),
    scopes: scopeList,
    sources: sourcePatterns,
    created_ms: z.int().meta({ description: 'Unix milliseconds.' }),
    created_by: z.string().nullable().meta({
      description:
        'The id of the key or the account that made it, or `operator` for the command line and the first start; null where nobody knows.',
    }),
    last_used_ms: z.int().nullable().meta({
      description: 'Start of the minute in which it was last used, Unix milliseconds. Known a minute later; null when it was not used.',
    }),
    last_used_from: z.string().nullable().meta({ description: 'The address from which it was last used.' }),
  })
  .meta({ id: 'ApiKey' });

/** The answer to a new key. */
export const createdKey = listedKey
  .extend({ api_key: z.string().meta({ description: 'The key. It is shown here and never again: store it now.' }) })
  .meta({ id: 'CreatedApiKey' });

/** @param use the last one. */
export function toListed(key: ApiKey, use?: KeyUse): z.output<typeof listedKey> {
  const { keyId: id, name, prefix, suffix } = key;
  const made = { created_ms: key.createdMs, created_by: key.createdBy || null };
  const used = { last_used_ms: use?.usedMs ?? null, last_used_from: use?.address || null };
  return { id, name, prefix, suffix, scopes: [...key.scopes], sources: [...key.sources], ...made, ...used };
}
