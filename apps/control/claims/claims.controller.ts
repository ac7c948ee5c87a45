import { Controller, Get, Header, Headers, HttpCode, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { Access, JsonBody, PersonParam } from '#edge';
import type { Person } from '#model';
import { approval, newClaim, toPolled, toShown, toStarted, type polledClaim, type shownClaim, type startedClaim } from './claim-bodies.js';
import { Claims } from './claims.js';

/**
 * Keys that a person approves in a browser. No page of another origin starts or polls a claim: it would ask from the address of whoever looks
 * at it, who then thinks that it is their own device.
 */
@Controller('api/auth')
export class ClaimsController {
  constructor(private readonly claims: Claims) {}

  @Post('claim')
  @Header('cache-control', 'no-store')
  @Access({ key: false, cors: false })
  async start(@JsonBody(newClaim) asked: z.output<typeof newClaim>, @Req() { ip }: FastifyRequest): Promise<z.output<typeof startedClaim>> {
    return toStarted(await this.claims.start({ ...asked, address: ip ?? '' }));
  }

  @Get('claim/:device_code')
  @Header('cache-control', 'no-store')
  @Access({ key: false, cors: false })
  async poll(@Param('device_code') deviceCode: string, @Req() { method }: FastifyRequest): Promise<z.output<typeof polledClaim>> {
    // The answer to HEAD has no body: it must not use up the key.
    if (method === 'HEAD') return { status: 'pending' };
    return toPolled(await this.claims.poll(deviceCode));
  }

  @Get('claims/:user_code')
  @Access({ key: false, person: true, cors: false })
  async show(
    @Param('user_code') code: string,
    @PersonParam() person: Person,
    @Req() { ip }: FastifyRequest,
  ): Promise<z.output<typeof shownClaim>> {
    return toShown(await this.claims.find(code, { person, address: ip }));
  }

  @Post('claims/:user_code/approve')
  @HttpCode(204)
  @Access({ key: false, person: true, cors: false })
  async approve(
    @Param('user_code') code: string,
    @PersonParam() person: Person,
    @Headers('x-organization-id') orgId: string | undefined,
    @JsonBody(approval) given: z.output<typeof approval>,
    @Req() { ip }: FastifyRequest,
  ): Promise<void> {
    await this.claims.approve(code, { person, address: ip }, orgId, given);
  }

  @Post('claims/:user_code/deny')
  @HttpCode(204)
  @Access({ key: false, person: true, cors: false })
  async deny(
    @Param('user_code') code: string,
    @PersonParam() person: Person,
    @Headers('x-organization-id') orgId: string | undefined,
    @Req() { ip }: FastifyRequest,
  ): Promise<void> {
    await this.claims.deny(code, { person, address: ip }, orgId);
  }
}
