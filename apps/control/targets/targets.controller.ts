import { randomBytes, randomUUID } from 'node:crypto';
import { Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post } from '@nestjs/common';
import type { z } from 'zod';
import { CallerParam, CLOCK, Commands, JsonBody, Keyring, May, targetsArea, type Asking, type Clock } from '#edge';
import { entry, RECORD_LOG, VIEWS, type RecordLog, type View, type Views } from '#log';
import {
  flawsOfChange,
  flawsOfTarget,
  normalTarget,
  sampleAlert,
  TelemetryError,
  type AlertTarget,
  type Caller,
  type Flaw,
  type TargetChange,
  type TargetCommand,
  type TargetDeliveries,
  type TargetOutcome,
} from '#model';
import { maxAttemptMs, Outbound } from '#outbound';
import { alertTargets, deliveries, notices, targetKey } from '#topics';
import {
  newTarget,
  targetChange,
  toAttemptJson,
  toListedTarget,
  type attemptJson,
  type createdTarget,
  type listedTarget,
} from './targets.js';

/** A test may wait so long for its attempt, and for the log before and after. */
const maxTestMs = maxAttemptMs + 5_000;
/** Each target may be tested once in this time. */
const testPauseMs = 5_000;

/** Where the caller's organization is told of alerts. */
@Controller('api')
@May('targets')
export class TargetsController {
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

  @Get('alert-targets')
  list(@CallerParam() { orgId }: Caller): z.output<typeof listedTarget>[] {
    return Array.from(this.#targets.scan(`${orgId}/`), ([, target]) => target)
      .toSorted((a, b) => a.createdMs - b.createdMs)
      .map(toListedTarget);
  }

  @Post('alert-targets')
  async create(
    @CallerParam() caller: Caller,
    @JsonBody(newTarget) { kind, name, url, email, min_severity: minSeverity }: z.output<typeof newTarget>,
  ): Promise<z.output<typeof createdTarget>> {
    const { orgId } = caller;
    const definition = normalTarget({ kind, name, to: (kind === 'email' ? email : url) ?? '', minSeverity });
    checked(flawsOfTarget(definition));
    await this.#checkAllowed(definition);
    const secret = kind === 'webhook' ? `whsec_${randomBytes(24).toString('base64')}` : '';
    const targetId = `target_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
    const at = { createdMs: this.clock(), changedMs: this.clock(), paused: null };
    const target = { ...definition, orgId, targetId, secret, ...at };
    const outcome = await this.#carryOut(caller, { targetId, does: 'create', target, change: null, changedMs: null });
    if (outcome === 'too_many')
      throw new TelemetryError('too_many_alert_targets', 'Delete a target first: your organization has as many as it may.');
    return { ...toListedTarget(this.#targets.get(targetKey(target)) ?? target), secret: secret || null };
  }

  @Patch('alert-targets/:id')
  async change(
    @CallerParam() caller: Caller,
    @Param('id') targetId: string,
    @JsonBody(targetChange) { name, url, email, min_severity: minSeverity, paused }: z.output<typeof targetChange>,
  ): Promise<z.output<typeof listedTarget>> {
    const before = this.#target(caller, targetId);
    const given = before.kind === 'email' ? email : url;
    const to = given === undefined ? null : normalTarget({ ...before, to: given }).to;
    const change: TargetChange = { name: name ?? null, to, minSeverity: minSeverity ?? null, isPaused: paused ?? null };
    checked(flawsOfChange(before, change));
    if (to !== null) await this.#checkAllowed({ ...before, to });
    const outcome = await this.#carryOut(caller, { targetId, does: 'change', target: null, change, changedMs: null });
    if (outcome === 'unknown_target') throw unknownTarget();
    return toListedTarget(this.#target(caller, targetId));
  }

  @Delete('alert-targets/:id')
  @HttpCode(204)
  async delete(@CallerParam() caller: Caller, @Param('id') targetId: string): Promise<void> {
    const outcome = await this.#carryOut(caller, { targetId, does: 'delete', target: null, change: null, changedMs: null });
    if (outcome === 'unknown_target') throw unknownTarget();
  }

  /** Sends a sample, in the place of a processor and from the machine of one. Answers what the target answered. */
  @Post('alert-targets/:id/test')
  @HttpCode(200)
  async test(@CallerParam() caller: Caller, @Param('id') targetId: string): Promise<z.output<typeof attemptJson>> {
    const { orgId } = this.#target(caller, targetId);
    const key = targetKey({ orgId, targetId });
    const waitMs = (this.#deliveries.get(key)?.attempts.findLast(({ isTest }) => isTest)?.atMs ?? 0) + testPauseMs - this.clock();
    if (waitMs > 0) throw new TelemetryError('over_rate', 'Test a target once in 5 seconds.', { retryAfterS: Math.ceil(waitMs / 1000) });
    const testId = `msg_${randomUUID().replaceAll('-', '')}`;
    const ofTest = (state: TargetDeliveries | undefined) => state?.attempts.find(({ deliveryId }) => deliveryId === testId);
    const [state] = await Promise.all([
      this.#deliveries.until(key, (one) => ofTest(one) !== undefined, maxTestMs),
      this.log.append([entry(notices, { orgId, targetId, place: null, testId, alerts: [sampleAlert(this.clock())] })]),
    ]);
    return toAttemptJson(targetId, ofTest(state)!);
  }

  @Get('deliveries')
  attempts(@CallerParam() { orgId }: Caller): z.output<typeof attemptJson>[] {
    return Array.from(this.#deliveries.scan(`${orgId}/`))
      .flatMap(([, { targetId, attempts }]) => attempts.map((attempt) => toAttemptJson(targetId, attempt)))
      .toSorted((a, b) => b.at_ms - a.at_ms);
  }

  #target({ orgId }: Caller, targetId: string): AlertTarget {
    const target = this.#targets.get(targetKey({ orgId, targetId }));
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

function checked(flaws: readonly Flaw[]): void {
  const [first] = flaws;
  if (first) throw new TelemetryError('invalid_body', `Mend ${first.pointer}: ${first.detail}`, { flaws });
}

const unknownTarget = (): TelemetryError =>
  new TelemetryError('unknown_alert_target', 'List the targets with GET /api/alert-targets: your organization has none with this id.');
