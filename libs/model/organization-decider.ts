import type { Decider } from './decider.js';
import { isOrgId } from './names.js';
import type { Asked } from './once.js';
import type { Organization } from './organization.js';

type Changeable = Pick<Organization, 'name' | 'paymentMethodOnFile' | 'enforceReadScope' | 'limits'>;

/** What to change of an organization; null for what stays as it is. */
export type OrganizationChange = { readonly [Name in keyof Changeable]: Changeable[Name] | null };

/** Asks to make, to change or to delete an organization. */
export type OrganizationCommand = Asked & OrganizationChange & { readonly does: 'create' | 'change' | 'delete' };

/** What became of a command; the last two are refusals. */
export type OrganizationOutcome = 'created' | 'changed' | 'deleted' | 'already_exists' | 'unknown_organization';

export interface OrganizationEvent {
  readonly outcome: OrganizationOutcome;
  readonly orgId: string;
  readonly before?: Organization;
  /** None where the command is refused. */
  readonly after?: Organization;
}

export interface OrganizationState {
  /** The one that a command is about. */
  readonly organization?: Organization | undefined;
}

/** Organizations are made once, changed one change after the other, and deleted for good. */
export const organizationDecider: Decider<OrganizationState, OrganizationCommand, OrganizationEvent> = {
  initial: {},

  decide({ organization: before }, command, nowMs) {
    const { orgId, does } = command;
    if (does === 'create') {
      const after = changed({ orgId, ...blank, createdMs: nowMs }, command);
      return [before ? { outcome: 'already_exists', orgId } : { outcome: 'created', orgId, after }];
    }
    if (!before || before.deletedMs !== null) return [{ outcome: 'unknown_organization', orgId }];
    if (does === 'change') return [{ outcome: 'changed', orgId, before, after: changed(before, command) }];
    return [{ outcome: 'deleted', orgId, before, after: { ...before, paymentMethodOnFile: false, deletedMs: nowMs } }];
  },

  evolve: (state, { after }) => (after ? { organization: after } : state),
};

const blank = { name: '', paymentMethodOnFile: false, limits: {}, enforceReadScope: false, deletedMs: null };

const changed = (before: Organization, change: OrganizationChange): Organization => ({
  ...before,
  name: change.name ?? before.name,
  paymentMethodOnFile: change.paymentMethodOnFile ?? before.paymentMethodOnFile,
  enforceReadScope: change.enforceReadScope ?? before.enforceReadScope,
  limits: change.limits ?? before.limits,
});

/** What a command says that makes no sense, in words; undefined when there is nothing. */
export const flawOfOrganizationCommand = ({ orgId }: OrganizationCommand): string | undefined =>
  isOrgId(orgId) ? undefined : 'the organization id is not one';

/** What an organization has other than before, in words for people. */
export function changeInWords(before: Organization | undefined, after: Organization): string {
  const yes = (is: boolean): string => (is ? 'yes' : 'no');
  const limits = (its: Organization): string =>
    Object.entries(its.limits)
      .map(([name, limit]) => `${name}=${limit}`)
      .join(', ') || 'none';
  const facts = (its: Organization): readonly (readonly [string, string])[] => [
    ['name', its.name],
    ['payment method on file', yes(its.paymentMethodOnFile)],
    ['read scope enforced', yes(its.enforceReadScope)],
    ['limits', limits(its)],
  ];
  const old = before && new Map(facts(before));
  const told = facts(after).filter(([what, value]) => (old ? old.get(what) !== value : value !== 'no' && value !== 'none'));
  return told.map(([what, value]) => `${what}: ${value}`).join('; ') || 'nothing';
}
