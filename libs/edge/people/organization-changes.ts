import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { TelemetryError, type Actor, type Organization, type OrganizationChange } from '#model';
import { organizationsArea } from '../areas/index.js';
import { Commands } from '../commands.js';
import { Organizations } from '../organizations.js';

const nothing: OrganizationChange = { name: null, paymentMethodOnFile: null, enforceReadScope: null, limits: null };

/** Makes, changes and deletes organizations. Every change is decided by one writer and stands in the audit log: methods reject `log_unavailable` when that takes too long. */
@Injectable()
export class OrganizationChanges {
  constructor(
    private readonly commands: Commands,
    private readonly organizations: Organizations,
  ) {}

  async create(wanted: Partial<OrganizationChange>, by: Actor): Promise<Organization> {
    const orgId = `org_${randomBytes(8).toString('hex')}`;
    await this.commands.carryOut(organizationsArea, { orgId, by, does: 'create', ...nothing, ...wanted });
    return this.organizations.get(orgId)!;
  }

  /** Changes what is named and not null. Rejects `unknown_organization`. */
  async change(orgId: string, wanted: Partial<OrganizationChange>, by: Actor): Promise<Organization> {
    const { word } = await this.commands.carryOut(organizationsArea, { orgId, by, does: 'change', ...nothing, ...wanted });
    const organization = this.organizations.get(orgId);
    if (word === 'changed' && organization) return organization;
    throw unknown();
  }

  /** From then on nobody is let in, and `DeletedOrganizations` removes what it has. Rejects `unknown_organization`. */
  async delete(orgId: string, by: Actor): Promise<void> {
    const { word } = await this.commands.carryOut(organizationsArea, { orgId, by, does: 'delete', ...nothing });
    if (word !== 'deleted') throw unknown();
  }
}

const unknown = (): TelemetryError =>
  new TelemetryError('unknown_organization', 'List the organizations with GET /api/organizations: there is none with this id.');
