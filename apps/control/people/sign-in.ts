import { z } from 'zod';
import type { Accounts, ListedSession, Organizations } from '#edge';
import { personRoles, sessionMs, TelemetryError, type Person } from '#model';

/** Longer than any address or password may be, for those that are typed wrong. */
const maxTypedChars = 1024;
export const email = z
  .string()
  .min(1)
  .max(maxTypedChars)
  .meta({ examples: ['ada@example.com'] });
export const password = z.string().min(1).max(maxTypedChars);

/** The body that signs somebody in. */
export const signInBody = z.object({ email, password }).meta({ id: 'SignIn' });

export const role = z.enum(personRoles).meta({
  description: 'A viewer reads, a member also manages keys, monitors and alert targets, an owner also people and the organization.',
});

const organization = z.object({
  id: z.string(),
  name: z.string(),
  role,
  payment_method_on_file: z.boolean(),
});

/** Who has signed in. */
export const whoami = z
  .object({
    account_id: z.string(),
    email: z.string(),
    session_id: z.string(),
    organizations: z.array(organization).meta({
      description: 'Those that the person belongs to, the longest first. Name one in `x-organization-id` where there are several.',
    }),
  })
  .meta({ id: 'SignedIn' });

export const listedSession = z
  .object({
    id: z.string(),
    current: z.boolean().meta({ description: 'Whether it is the one of this request.' }),
    created_ms: z.int().meta({ description: 'Unix milliseconds.' }),
    created_from: z.string().nullable().meta({ description: 'The address where it was begun.' }),
    agent: z.string().meta({ description: 'The browser, as it calls itself.' }),
    last_used_ms: z.int().meta({ description: 'To a day, Unix milliseconds.' }),
    last_used_from: z.string().nullable(),
    expires_ms: z.int().meta({ description: 'When it ends if it is not used until then.' }),
  })
  .meta({ id: 'Session' });

/**
 * @param person undefined where the session is over already, for instance because the password was changed meanwhile.
 * @throws TelemetryError `not_signed_in` when there is no person.
 */
export function toWhoami(person: Person | undefined, accounts: Accounts, organizations: Organizations): z.output<typeof whoami> {
  if (!person) throw new TelemetryError('not_signed_in', 'Sign in again: the account has just been changed.');
  const mine = accounts.membershipsOf(person.accountId).map(({ orgId, role: its }) => ({
    id: orgId,
    name: organizations.get(orgId)?.name ?? '',
    role: its,
    payment_method_on_file: organizations.hasPaymentMethod(orgId),
  }));
  return { account_id: person.accountId, email: person.email, session_id: person.sessionId, organizations: mine };
}

export const toListedSession = (session: ListedSession, current: Person): z.output<typeof listedSession> => ({
  id: session.sessionId,
  current: session.sessionId === current.sessionId,
  created_ms: session.createdMs,
  created_from: session.address || null,
  agent: session.agent,
  last_used_ms: session.usedMs,
  last_used_from: session.usedFrom || null,
  expires_ms: session.usedMs + sessionMs,
});
