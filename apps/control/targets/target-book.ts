import { randomBytes, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { z } from 'zod';
import { type Asking, CLOCK, type Clock, Commands, Keyring, maxAttemptMs, Outbound, targetsArea } from '#edge';
import { entry, RECORD_LOG, VIEWS, type RecordLog, type View, type Views } from '#log';
import {
  flawsOfChange,
  flawsOfTarget,
  normalTarget,
  sampleAlert,
  TelemetryError,
  type AlertTarget,
  type Attempt,
  type Caller,
  type Flaw,
  type TargetChange,
  type TargetCommand,
  type TargetDeliveries,
  type TargetOutcome,
} from '#model';
import { alertTargets, deliveries, notices, targetKey } from '#topics';
import type { newTarget, targetChange } from './targets.js';

/** A test may wait so long for its attempt, and for the log before and after. */
const maxTestMs = maxAttemptMs + 5_000;
/** Each target may be tested once in this time. */
const testPauseMs = 5_000;

/** Where organizations are told of alerts, and what became of the attempts to. */
@Injectable()
export class TargetBook {
  readonly #targets: View<AlertTarget>;
  readonly #deliveries: View<TargetDeliveries>;

  constructor(
    @Inject(VIEWS) views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly keyring: Keyring,
    private readonly commands: Commands,
    private readonly outbound: Outbound,
  ) {
    this.#targets = views.open(alertTargets);
    this.#deliveries = views.open(deliveries);
  }

  /** Oldest first. */
  list({ orgId }: Caller): readonly AlertTarget[] {
    return Array.from(this.#targets.scan(`${orgId}/`), ([, target]) => target).toSorted((a, b) => a.createdMs - b.createdMs);
  }

  find({ orgId }: Caller, targetId: string): AlertTarget | undefined {
    return this.#targets.get(targetKey({ orgId, targetId }));
  }

  /** The last attempts of a target, oldest first. */
  attempts(target: Pick<AlertTarget, 'orgId' | 'targetId'>): readonly Attempt[] {
    return this.#deliveries.get(targetKey(target))?.attempts ?? [];
  }

  /** The last attempts of all targets, those too that were deleted a moment ago. */
  allAttempts({ orgId }: Caller): readonly (readonly [targetId: string, attempt: Attempt])[] {
    return Array.from(this.#deliveries.scan(`${orgId}/`)).flatMap(([, { targetId, attempts }]) =>
      attempts.map((attempt) => [targetId, attempt] as const),
    );
  }

  /** Rejects `invalid_body`, `target_not_allowed` and `too_many_alert_targets`. */
  async create(caller: Caller, { kind, name, url, email, min_severity: minSeverity }: z.output<typeof newTarget>): Promise<AlertTarget> {
    const definition = normalTarget({ kind, name, to: (kind === 'email' ? email : url) ?? '', minSeverity });
    checked(flawsOfTarget(definition));
    await this.#checkAllowed(definition);
    const secret = kind === 'webhook' ? newSecret() : '';
    const targetId = `target_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
    const at = { createdMs: this.clock(), changedMs: this.clock(), paused: null };
    const target = { ...definition, orgId: caller.orgId, targetId, secret, formerSecret: null, ...at };
    const outcome = await this.#carryOut(caller, { ...nothingElse, targetId, does: 'create', target });
    if (outcome === 'too_many')
      throw new TelemetryError('too_many_alert_targets', 'Delete a target first: your organization has as many as it may.');
    return this.find(caller, targetId) ?? target;
  }

  /** What is left out stays. Rejects `unknown_alert_target`, `invalid_body` and `target_not_allowed`. */
  async change(
    caller: Caller,
    targetId: string,
    { name, url, email, min_severity: minSeverity, paused }: z.output<typeof targetChange>,
  ): Promise<AlertTarget> {
    const before = this.#known(caller, targetId);
    const given = before.kind === 'email' ? email : url;
    const to = given === undefined ? null : normalTarget({ ...before, to: given }).to;
    const change: TargetChange = { name: name ?? null, to, minSeverity: minSeverity ?? null, isPaused: paused ?? null };
    checked(flawsOfChange(before, change));
    if (to !== null) await this.#checkAllowed({ ...before, to });
    const outcome = await this.#carryOut(caller, { ...nothingElse, targetId, does: 'change', change });
    if (outcome === 'unknown_target') throw unknownTarget();
    return this.#known(caller, targetId);
  }

  /** Signs a webhook with another secret, as `rotated` says. Rejects `unknown_alert_target` and `unsigned_alert_target`. */
  async rotate(caller: Caller, targetId: string): Promise<AlertTarget> {
    this.#known(caller, targetId);
    const secret = newSecret();
    const outcome = await this.#carryOut(caller, { ...nothingElse, targetId, does: 'rotate', secret });
    if (outcome === 'unknown_target') throw unknownTarget();
    if (outcome === 'unsigned') throw new TelemetryError('unsigned_alert_target', 'Only targets of kind webhook are signed with a secret.');
    return this.#known(caller, targetId);
  }

  /** Rejects `unknown_alert_target`. */
  async delete(caller: Caller, targetId: string): Promise<void> {
    const outcome = await this.#carryOut(caller, { ...nothingElse, targetId, does: 'delete' });
    if (outcome === 'unknown_target') throw unknownTarget();
  }

  /**
   * Sends a sample, in the place of a processor and from the machine of one. Returns what became of it. A target is sent one sample at a
   * time: whoever asks while one is under way gets what became of that one. Rejects `over_rate`.
   */
  async test(caller: Caller, targetId: string): Promise<Attempt> {
    const { orgId } = this.#known(caller, targetId);
    const key = targetKey({ orgId, targetId });
    const lastTest = (state: TargetDeliveries | undefined) => state?.attempts.findLast(({ isTest }) => isTest);
    const before = lastTest(this.#deliveries.get(key));
    const waitMs = (before?.atMs ?? 0) + testPauseMs - this.clock();
    if (waitMs > 0) throw new TelemetryError('over_rate', 'Test a target once in 5 seconds.', { retryAfterS: Math.ceil(waitMs / 1000) });
    const testId = `msg_${randomUUID().replaceAll('-', '')}`;
    const isAnother = (test: Attempt | undefined) => test !== undefined && test.deliveryId !== before?.deliveryId;
    const [state] = await Promise.all([
      this.#deliveries.until(key, (one) => isAnother(lastTest(one)), maxTestMs),
      this.log.append([entry(notices, { orgId, targetId, place: null, testId, alerts: [sampleAlert(this.clock())] })]),
    ]);
    return lastTest(state)!;
  }

  #known(caller: Caller, targetId: string): AlertTarget {
    const target = this.find(caller, targetId);
    if (!target) throw unknownTarget();
    return target;
  }

  async #checkAllowed({ kind, to }: Pick<AlertTarget, 'kind' | 'to'>): Promise<void> {
    const noMail = 'The operator has configured no mail server (HEADWATER_SMTP_URL).';
    const why = kind === 'email' ? (this.outbound.mail.isConfigured ? undefined : noMail) : await this.outbound.whyNot(to);
    if (why) throw new TelemetryError('target_not_allowed', why);
  }

  async #carryOut(caller: Caller, what: Omit<Asking<TargetCommand>, 'orgId' | 'by'>): Promise<TargetOutcome> {
    const asking = { orgId: caller.orgId, by: this.keyring.actor(caller), ...what } as Asking<TargetCommand>;
    return (await this.commands.carryOut(targetsArea, asking)).word;
  }
}

/** What a command holds beside what it asks. */
const nothingElse = { target: null, change: null, changedMs: null, secret: null } as const;

const newSecret = (): string => `whsec_${randomBytes(24).toString('base64')}`;

function checked(flaws: readonly Flaw[]): void {
  const [first] = flaws;
  if (first) throw new TelemetryError('invalid_body', `Mend ${first.pointer}: ${first.detail}`, { flaws });
}

const unknownTarget = (): TelemetryError =>
  new TelemetryError('unknown_alert_target', 'List the targets with GET /api/alert-targets: your organization has none with this id.');
