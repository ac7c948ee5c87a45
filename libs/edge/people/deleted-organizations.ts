import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type AnyTopic, pagesOf, RECORD_LOG, tombstone, type Topic, type View, VIEWS, type RecordLog, type Views } from '#log';
import { causes, type Membership, oneAtATime, type Organization, type Source } from '#model';
import { GENERATIONS, type Generations } from '#stores';
import {
  accounts,
  alertNotes,
  alertTargets,
  apiKeys,
  audit,
  claims,
  commandStates,
  decisions,
  deletionOf,
  deliveries,
  invitations,
  keyDecisions,
  memberships,
  monitors,
  monitorStates,
  noticedSources,
  organizations,
  outcomes,
  presence,
  sourceAlerts,
  sources,
} from '#topics';
import { CLOCK, type Clock } from '../clock.js';

const logger = new Logger('DeletedOrganizations');

type Owned = Topic<{ readonly orgId: string }>;

/** Who gets in, and what people have defined. */
const defined = [
  apiKeys,
  memberships,
  invitations,
  claims,
  monitors,
  alertTargets,
  deliveries,
  alertNotes,
] as readonly AnyTopic[] as readonly Owned[];
/** What is known of each source, besides that there is one. Their keys begin with that of the source. */
const known = [presence, commandStates, monitorStates, sourceAlerts, noticedSources] as readonly AnyTopic[] as readonly Topic<Source>[];
/** What was said of changes, to those who asked for them too. */
const told = [keyDecisions, decisions, outcomes, audit] as readonly AnyTopic[] as readonly Owned[];

const lookMs = { something: 2_000, afterFailure: 10_000, nothing: 3_600_000 };
/** What is left of sources by then came behind their deletions, and they are deleted again. */
const patienceMs = 600_000;
/** By then every process knows that the organization is deleted, so that nothing of it can come any more. */
const knownEverywhereMs = 3_600_000;

/**
 * Removes what deleted organizations have: first who gets in and what they have defined, then each source, and last what was said of them and their
 * own record, so that whoever goes on after a crash knows what was begun. Every control process looks: what two of them append is the same.
 */
@Injectable()
export class DeletedOrganizations implements OnApplicationShutdown {
  readonly #inTurn = oneAtATime();
  readonly #view: View<Organization>;
  /** When the sources of an organization were deleted last. */
  readonly #askedMs = new Map<string, number>();
  /** Those of which it was told that they have nothing any more. */
  readonly #isEmpty = new Set<string>();
  readonly #ends: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(VIEWS) private readonly views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(GENERATIONS) private readonly generations: Generations,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#view = views.open(organizations);
    this.#ends = this.#view.changes(({ value }) => void (value?.deletedMs && this.#lookSoon(0)));
    this.#lookSoon(0);
  }

  onApplicationShutdown(): void {
    this.#ends();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** True when something was there to remove. Rejects `log_unavailable`: the next time removes the rest. */
  look(): Promise<boolean> {
    return this.#inTurn(async () => {
      let isSomething = false;
      await this.#view.ready;
      for (const organization of [...this.#view.scan('')].map(([, value]) => value))
        if (organization.deletedMs !== null && (await this.#remove(organization.orgId, organization.deletedMs))) isSomething = true;
      return isSomething;
    });
  }

  #lookSoon(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#lookAndAgain(), ms).unref();
  }

  async #lookAndAgain(): Promise<void> {
    const timer = this.#timer;
    const nextMs = await this.look().then(
      (isSomething) => (isSomething ? lookMs.something : lookMs.nothing),
      (error: unknown) => {
        logger.warn(`what deleted organizations have stays for now: ${causes(error)}`);
        return lookMs.afterFailure;
      },
    );
    // Nobody has ended this or asked for an earlier look meanwhile.
    if (timer === this.#timer && timer) this.#lookSoon(nextMs);
  }

  async #remove(orgId: string, deletedMs: number): Promise<boolean> {
    let found = await this.#endAccounts(orgId);
    for (const topic of defined) found += await this.#end(topic, orgId);
    found += await this.#deleteSources(orgId);
    if (found > 0) this.#isEmpty.delete(orgId);
    if (found > 0) return true;
    if (!this.#isEmpty.has(orgId)) logger.log(`all that the organization ${orgId} had is removed`);
    this.#isEmpty.add(orgId);
    if (this.clock() - deletedMs < knownEverywhereMs) return false;
    for (const topic of told) await this.#end(topic, orgId);
    await this.log.append([tombstone(organizations, orgId)]);
    this.#askedMs.delete(orgId);
    this.#isEmpty.delete(orgId);
    return false;
  }

  /** Accounts of people who belong to nothing else. */
  async #endAccounts(orgId: string): Promise<number> {
    const view = this.views.open(memberships);
    await view.caughtUp();
    const all = [...view.scan('')].map(([, value]) => value);
    const others = new Set(all.filter((one) => one.orgId !== orgId).map(({ accountId }: Membership) => accountId));
    const ends = all
      .filter((one) => one.orgId === orgId && !others.has(one.accountId))
      .map(({ accountId }) => tombstone(accounts, accountId));
    if (ends.length > 0) await this.log.append(ends);
    return ends.length;
  }

  /** What is known of a source tells that there may be something of it, also where it has sent nothing itself. */
  async #deleteSources(orgId: string): Promise<number> {
    const nowMs = this.clock();
    const views = [sources, ...known].map((topic) => [topic, this.views.open(topic)] as const);
    await Promise.all(views.map(([, view]) => view.caughtUp()));
    const found = views.reduce((sum, [, view]) => sum + view.count(`${orgId}/`), 0);
    if (found === 0 || nowMs - (this.#askedMs.get(orgId) ?? -Infinity) < patienceMs) return found;
    this.generations.beforeDeletion();
    for (const [topic, view] of views)
      for (const page of pagesOf(view, `${orgId}/`)) {
        const ids = new Set(page.map(([, { sourceId }]) => sourceId));
        const deletions = [...ids].flatMap((sourceId) => deletionOf({ orgId, sourceId }, null, nowMs));
        // The list of sources follows from the deletions.
        const ends = topic === sources ? [] : page.map(([key]) => tombstone(topic, key));
        await this.log.append([...deletions, ...ends]);
      }
    this.#askedMs.set(orgId, nowMs);
    return found;
  }

  async #end(topic: Owned, orgId: string): Promise<number> {
    const view = this.views.open(topic);
    await view.caughtUp();
    let found = 0;
    for (const page of pagesOf(view, '')) {
      const ends = page.filter(([, value]) => value.orgId === orgId).map(([key]) => tombstone(topic, key));
      found += ends.length;
      if (ends.length > 0) await this.log.append(ends);
    }
    return found;
  }
}
