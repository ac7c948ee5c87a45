import { Controller, Delete, Get, HttpCode, Param, Patch } from '@nestjs/common';
import type { z } from 'zod';
import { Access, CallerParam, JsonBody, Keyring, OrganizationChanges, Organizations } from '#edge';
import { operatorOrgId, TelemetryError, type Caller } from '#model';
import { listedOrganization, organizationChange, toListedOrganization } from './organizations.js';

/** Organizations: an owner's own one, and all of them for a key of the operator. */
@Controller('api/organizations')
@Access({ may: 'organization', payment: false })
export class OrganizationsController {
  constructor(
    private readonly organizations: Organizations,
    private readonly changes: OrganizationChanges,
    private readonly keyring: Keyring,
  ) {}

  @Get()
  list(@CallerParam() caller: Caller): z.output<typeof listedOrganization>[] {
    const isOperator = mustBeAllowed(caller);
    return this.organizations
      .list()
      .filter(({ orgId }) => isOperator || orgId === caller.orgId)
      .map(toListedOrganization);
  }

  @Delete(':id')
  @HttpCode(204)
  async delete(@CallerParam() caller: Caller, @Param('id') orgId: string): Promise<void> {
    mustBeAllowed(caller, orgId);
    if (orgId === operatorOrgId)
      throw new TelemetryError(
        'operator_organization',
        'Delete what it has instead: each start of the server makes this organization again.',
      );
    await this.changes.delete(orgId, this.keyring.actor(caller));
  }

  @Patch(':id')
  async change(
    @CallerParam() caller: Caller,
    @Param('id') orgId: string,
    @JsonBody(organizationChange) body: z.output<typeof organizationChange>,
  ): Promise<z.output<typeof listedOrganization>> {
    const isOperator = mustBeAllowed(caller, orgId);
    const { name = null, enforce_read_scope: enforceReadScope = null, payment_method_on_file: paymentMethodOnFile = null } = body;
    if (!isOperator && paymentMethodOnFile !== null)
      throw new TelemetryError('missing_scope', 'Leave payment_method_on_file to the operator: a key of the operator changes it.');
    return toListedOrganization(
      await this.changes.change(orgId, { name, enforceReadScope, paymentMethodOnFile }, this.keyring.actor(caller)),
    );
  }
}

/**
 * Whether it is the operator, by a key of the organization that the first start has made.
 * @throws TelemetryError `missing_scope` for a key of another one, or `unknown_organization` for an organization that is not the caller's.
 */
function mustBeAllowed({ person, orgId }: Caller, wanted = orgId): boolean {
  if (person && wanted !== orgId)
    throw new TelemetryError('unknown_organization', 'List the organizations with GET /api/organizations: there is none with this id.');
  if (person) return false;
  if (orgId !== operatorOrgId) throw new TelemetryError('missing_scope', 'Sign in as an owner, or use a key of the operator.');
  return true;
}
