import { z } from 'zod';
import type { Accounts } from '#edge';
import type { Invitation, Membership } from '#model';
import { email, password, role } from './sign-in.js';

/** The body that asks for an invitation. */
export const newInvitation = z
  .object({
    role,
    email: email.optional().meta({ description: 'Who may use it. Without it: whoever has the link.' }),
  })
  .meta({ id: 'NewInvitation' });

export const listedInvitation = z
  .object({
    id: z.string(),
    role,
    email: z.string().nullable().meta({ description: 'Who may use it; null for whoever has the link.' }),
    invited_by: z.string().meta({ description: 'The address of who has invited, or `operator`.' }),
    expires_ms: z.int().meta({ description: 'Unix milliseconds.' }),
  })
  .meta({ id: 'Invitation' });

export const createdInvitation = listedInvitation
  .extend({ link: z.string().meta({ description: 'For whoever is invited. It is shown here and never again.' }) })
  .meta({ id: 'CreatedInvitation' });

const token = z.string().max(100).meta({ description: 'What stands behind the last slash of the link.' });

/** The body that accepts an invitation: as who has signed in, or with a new account. */
export const acceptance = z
  .object({ token, email: email.optional(), password: password.optional() })
  .refine((body) => (body.email === undefined) === (body.password === undefined), 'must have email and password, or neither of them')
  .meta({
    id: 'Acceptance',
    description: 'Whoever has signed in leaves `email` and `password` out; with them an account is made.',
  });

export const person = z
  .object({ id: z.string(), email: z.string(), role, since_ms: z.int().meta({ description: 'Unix milliseconds.' }) })
  .meta({ id: 'Person' });

export const personChange = z.object({ role }).meta({ id: 'PersonChange' });

/** The body that sets another password. */
export const newPassword = z.object({ current_password: password, password }).meta({ id: 'NewPassword' });

/** The body that sets another password by a link. */
export const passwordReset = z.object({ token, password }).meta({ id: 'ResetPassword' });

export function toListedInvitation(invitation: Invitation, accounts: Accounts): z.output<typeof listedInvitation> {
  const { invitationId: id, role: its, email: to, invitedBy, expiresMs } = invitation;
  return { id, role: its, email: to || null, invited_by: accounts.get(invitedBy)?.email ?? invitedBy, expires_ms: expiresMs };
}

export const toPerson = ({ accountId, role: its, sinceMs }: Membership, accounts: Accounts): z.output<typeof person> => ({
  id: accountId,
  email: accounts.get(accountId)?.email ?? '',
  role: its,
  since_ms: sinceMs,
});
