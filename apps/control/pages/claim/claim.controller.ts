import { Get, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Claims, type Approver, type ShownClaim } from '../../claims/claims.js';
import { FormParam, typed, type Form } from '../form.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { refused } from '../refused.js';
import { Shown } from '../shown.js';
import { ForVisitor, VisitParam, type Visit } from '../visit.js';
import { claimPage, codePage, donePage } from './claim-page.js';

/** Where a person approves a key that a device or a command asks for. Whose organizations allow that is for the claim to say. */
@Pages('claim')
export class ClaimPages {
  constructor(private readonly claims: Claims) {}

  @Get()
  @ForVisitor('read', { payment: false })
  async show(@Query('code') code: unknown, @VisitParam() visit: Visit, @Req() request: FastifyRequest): Promise<Html | Shown> {
    if (typeof code !== 'string' || code === '') return codePage(visit, '');
    try {
      return this.#page(visit, await this.claims.find(code, approverOf(visit, request)));
    } catch (error) {
      return refused(request, error, (problem) => codePage(visit, code, problem));
    }
  }

  @Post()
  @ForVisitor('read', { payment: false })
  async decide(@FormParam() form: Form, @VisitParam() visit: Visit, @Req() request: FastifyRequest): Promise<Shown> {
    const code = typed(form, 'code');
    const isApproved = form.get('decision') === 'approve';
    const approver = approverOf(visit, request);
    try {
      if (isApproved) await this.claims.approve(code, approver, typed(form, 'organization'));
      else await this.claims.deny(code, approver, typed(form, 'organization'));
      return new Shown(donePage(visit, isApproved));
    } catch (error) {
      return refused(request, error, (problem) => codePage(visit, code, problem));
    }
  }

  #page(visit: Visit, claim: ShownClaim): Html | Shown {
    if (claim.status === 'pending') return claimPage(visit, claim);
    const how = claim.status === 'expired' ? 'has expired' : 'was approved or denied before';
    return new Shown(codePage(visit, '', `This code ${how}: the device or the command has to ask for another one.`), 404);
  }
}

const approverOf = ({ person }: Visit, { ip }: FastifyRequest): Approver => ({ person, address: ip });
