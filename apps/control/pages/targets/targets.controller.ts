import { Get, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { checkJson, CLOCK, type Clock } from '#edge';
import { TelemetryError, type AlertTarget, type Caller } from '#model';
import { TargetBook } from '../../targets/target-book.js';
import { newTarget, targetChange } from '../../targets/targets.js';
import { FormParam, typed, type Form } from '../form.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { refused } from '../refused.js';
import { Redirect, Shown } from '../shown.js';
import { ForVisitor, VisitParam, type Visit } from '../visit.js';
import { secretPage, targetPage } from './target-page.js';
import { targetsPage, type TargetForm } from './targets-page.js';

const emptyForm: TargetForm = { kind: 'slack', name: '', to: '', severity: 'info' };

/** Where alerts are told. */
@Pages('targets')
export class TargetsPages {
  constructor(
    private readonly book: TargetBook,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ForVisitor('targets')
  list(@VisitParam() visit: Visit): Html {
    return this.#list(visit, emptyForm);
  }

  @Post()
  @ForVisitor('targets')
  async create(@VisitParam() visit: Visit, @FormParam() form: Form, @Req() request: FastifyRequest): Promise<Redirect | Shown> {
    const asked: TargetForm = {
      kind: typed(form, 'kind'),
      name: typed(form, 'name'),
      to: placeIn(form),
      severity: typed(form, 'severity'),
    };
    try {
      const { kind, name, to, severity } = asked;
      const target = await this.book.create(
        visit.caller,
        checkJson(newTarget, { kind, name, min_severity: severity, ...placeOf(kind, to) }),
      );
      return target.secret ? new Shown(secretPage(visit, target, this.clock()), 201) : new Redirect(`/targets/${target.targetId}`);
    } catch (error) {
      return refused(request, error, (problem) => this.#list(visit, { ...asked, problem }));
    }
  }

  @Get(':id')
  @ForVisitor('targets')
  one(@VisitParam() visit: Visit, @Param('id') id: string): Html {
    return this.#page(visit, this.#find(visit.caller, id));
  }

  @Post(':id')
  @ForVisitor('targets')
  change(
    @VisitParam() visit: Visit,
    @Param('id') id: string,
    @FormParam() form: Form,
    @Req() request: FastifyRequest,
  ): Promise<Redirect | Shown> {
    return this.#does(visit, id, request, ({ kind }) => {
      const to = placeIn(form);
      const change = { name: typed(form, 'name'), min_severity: typed(form, 'severity'), ...(to !== '' && placeOf(kind, to)) };
      return this.book.change(visit.caller, id, checkJson(targetChange, change));
    });
  }

  @Post(':id/pause')
  @ForVisitor('targets')
  pause(
    @VisitParam() visit: Visit,
    @Param('id') id: string,
    @FormParam() form: Form,
    @Req() request: FastifyRequest,
  ): Promise<Redirect | Shown> {
    return this.#does(visit, id, request, () => this.book.change(visit.caller, id, { paused: form.get('paused') === 'yes' }));
  }

  @Post(':id/secret')
  @ForVisitor('targets')
  async rotate(@VisitParam() visit: Visit, @Param('id') id: string, @Req() request: FastifyRequest): Promise<Redirect | Shown> {
    const target = this.#find(visit.caller, id);
    try {
      return new Shown(secretPage(visit, await this.book.rotate(visit.caller, id), this.clock()), 201);
    } catch (error) {
      return refused(request, error, (problem) => this.#page(visit, target, problem));
    }
  }

  @Post(':id/test')
  @ForVisitor('targets')
  test(@VisitParam() visit: Visit, @Param('id') id: string, @Req() request: FastifyRequest): Promise<Redirect | Shown> {
    return this.#does(visit, id, request, () => this.book.test(visit.caller, id));
  }

  /** One that is gone already is gone. */
  @Post(':id/delete')
  @ForVisitor('targets')
  async delete(@VisitParam() { caller }: Visit, @Param('id') id: string): Promise<Redirect> {
    if (this.book.find(caller, id)) await this.book.delete(caller, id);
    return new Redirect('/targets');
  }

  async #does(
    visit: Visit,
    id: string,
    request: FastifyRequest,
    does: (target: AlertTarget) => Promise<unknown>,
  ): Promise<Redirect | Shown> {
    const target = this.#find(visit.caller, id);
    try {
      await does(target);
      return new Redirect(`/targets/${target.targetId}`);
    } catch (error) {
      return refused(request, error, (problem) => this.#page(visit, target, problem));
    }
  }

  #list(visit: Visit, form: TargetForm): Html {
    const targets = this.book.list(visit.caller).map((target) => ({ target, last: this.book.attempts(target).at(-1) }));
    return targetsPage(visit, targets, this.clock(), form);
  }

  #page(visit: Visit, target: AlertTarget, problem?: string): Html {
    const form = { name: target.name, severity: target.minSeverity, ...(problem !== undefined && { problem }) };
    return targetPage(visit, target, this.book.attempts(target).toReversed(), this.clock(), form);
  }

  #find(caller: Caller, id: string): AlertTarget {
    const found = this.book.find(caller, id);
    if (!found)
      throw new TelemetryError('unknown_alert_target', 'Look at the list of targets: your organization has none with this address.');
    return found;
  }
}

const maxPlaceChars = 4096;
/** URLs are longer than what people type; the model says how long they may be. */
const placeIn = (form: Form): string => (form.get('to') ?? '').slice(0, maxPlaceChars).trim();

const placeOf = (kind: string, to: string): { readonly email: string } | { readonly url: string } =>
  kind === 'email' ? { email: to } : { url: to };
