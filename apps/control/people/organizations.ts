import { z } from 'zod';
import type { Organization } from '#model';
import { givenName } from '../keys.js';

const name = givenName({ examples: ['Plant 7'] });
const enforceReadScope = z.boolean().meta({
  description:
    'Whether its keys need the scope `read` for reading, and `write` for commands and for changing monitors and alerts. Otherwise any key may.',
});
const payment = z.boolean().meta({ description: 'Without one its keys get 402.' });

/** The body that changes an organization. */
export const organizationChange = z
  .object({
    name: name.optional(),
    enforce_read_scope: enforceReadScope.optional(),
    payment_method_on_file: payment.optional().meta({ description: 'For keys of the operator only.' }),
  })
  .meta({ id: 'OrganizationChange' });

export const listedOrganization = z
  .object({
    id: z.string(),
    name: z.string(),
    payment_method_on_file: payment,
    enforce_read_scope: enforceReadScope,
    created_ms: z.int().meta({ description: 'Unix milliseconds.' }),
  })
  .meta({ id: 'Organization' });

export const toListedOrganization = (organization: Organization): z.output<typeof listedOrganization> => ({
  id: organization.orgId,
  name: organization.name,
  payment_method_on_file: organization.paymentMethodOnFile,
  enforce_read_scope: organization.enforceReadScope,
  created_ms: organization.createdMs,
});
