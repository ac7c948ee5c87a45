import { Controller, Delete, Get, Header, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { Access, Accounts, JsonBody, Organizations, originOf, PersonParam, Sessions, SignIn, Visitors } from '#edge';
import { TelemetryError, type Person } from '#model';
import { signInBody, toListedSession, toWhoami, type listedSession, type whoami } from './sign-in.js';

/** Sessions of people. */
@Controller('api/auth')
export class SignInController {
  constructor(
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly visitors: Visitors,
    private readonly accounts: Accounts,
    private readonly organizations: Organizations,
  ) {}

  @Post('sign-in')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @Access({ key: false, cors: false })
  async enter(
    @JsonBody(signInBody) body: z.output<typeof signInBody>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.output<typeof whoami>> {
    const { token } = await this.signIn.signIn(body, originOf(request), this.visitors.tokenOf(request));
    this.visitors.give(reply, token);
    return toWhoami(this.sessions.personOf(token), this.accounts, this.organizations);
  }

  @Post('sign-out')
  @HttpCode(204)
  @Access({ key: false, cors: false })
  async leave(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    const person = this.sessions.personOf(this.visitors.tokenOf(request));
    if (person) await this.sessions.end(person.accountId, person.sessionId);
    this.visitors.give(reply, undefined);
  }

  @Get('session')
  @Access({ key: false, person: true, cors: false })
  whoami(@PersonParam() person: Person): z.output<typeof whoami> {
    return toWhoami(person, this.accounts, this.organizations);
  }

  @Get('sessions')
  @Access({ key: false, person: true, cors: false })
  list(@PersonParam() person: Person): z.output<typeof listedSession>[] {
    return this.sessions.list(person.accountId).map((session) => toListedSession(session, person));
  }

  @Delete('sessions/:id')
  @HttpCode(204)
  @Access({ key: false, person: true, cors: false })
  async end(@PersonParam() person: Person, @Param('id') sessionId: string): Promise<void> {
    if (await this.sessions.end(person.accountId, sessionId)) return;
    throw new TelemetryError('unknown_session', 'List your sessions with GET /api/auth/sessions: there is none with this id.');
  }
}
