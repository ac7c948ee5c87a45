import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { entry, RECORD_LOG, VIEWS, type RecordLog, type View, type Views } from '#log';
import type { Organization, OrganizationLimits } from '#model';
import { organizations } from '#topics';
import { CLOCK, type Clock } from './clock.js';

/** A view that is older may still show what is deleted. */
const maxAgeMs = 300_000;

const noLimits: OrganizationLimits = Object.freeze({});

/** Whether the log has been silent for so long that the view may show what is deleted. */
export const isStale = (view: View<unknown>): boolean => view.ageMs() > maxAgeMs;

/**
 * Organizations, as the log tells them. `OrganizationChanges` makes and changes them; only the one that is made by itself, at the first start,
 * is written here: it has a fixed id, so that two who make it at the same time make one.
 */
@Injectable()
export class Organizations {
  readonly #view: View<Organization>;

  constructor(
    @Inject(VIEWS) private readonly views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#view = views.open(organizations);
  }

  /** Resolves when all organizations that exist are known. */
  get ready(): Promise<void> {
    return this.#view.ready;
  }

  /** Records of organizations cannot be read: there may be more of them than are known, and those count as deleted. */
  hasUnreadable(): boolean {
    return this.views.unreadableKeys().some(({ topic }) => topic === organizations.name);
  }

  /** The log has been silent for so long that a payment method which is gone might still be taken for one on file. */
  isStale(): boolean {
    return isStale(this.#view);
  }

  /** One that exists: undefined where it is deleted. */
  get(orgId: string): Organization | undefined {
    const organization = this.#view.get(orgId);
    return organization?.deletedMs === null ? organization : undefined;
  }

  hasPaymentMethod(orgId: string): boolean {
    return this.#view.get(orgId)?.paymentMethodOnFile ?? false;
  }

  enforcesReadScope(orgId: string): boolean {
    return this.#view.get(orgId)?.enforceReadScope ?? false;
  }

  /** What limits an organization has of its own. */
  limits(orgId: string): OrganizationLimits {
    return this.#view.get(orgId)?.limits ?? noLimits;
  }

  list(): readonly Organization[] {
    return Array.from(this.#view.scan(''), ([, organization]) => organization).filter(({ deletedMs }) => deletedMs === null);
  }

  /** Makes an organization that is known here at once. Rejects `log_unavailable`; it may then exist all the same. */
  async create(
    name: string,
    paymentMethodOnFile: boolean,
    { orgId = `org_${randomBytes(8).toString('hex')}`, limits = {} }: Partial<Pick<Organization, 'orgId' | 'limits'>> = {},
  ): Promise<Organization> {
    const rest = { createdMs: this.clock(), limits, enforceReadScope: false, deletedMs: null };
    const organization: Organization = { orgId, name, paymentMethodOnFile, ...rest };
    await this.#write(organization);
    return organization;
  }

  async #write(organization: Organization): Promise<void> {
    await this.log.append([entry(organizations, organization)]);
    await this.#view.caughtUp();
  }
}
