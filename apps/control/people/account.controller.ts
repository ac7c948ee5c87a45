import { Controller, Header, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { Access, Accounts, JsonBody, Organizations, originOf, People, PersonParam, Sessions, SignIn, Visitors } from '#edge';
import { TelemetryError, type Account, type Person } from '#model';
import { acceptance, newPassword, passwordReset } from './people.js';
import { toWhoami, type whoami } from './sign-in.js';

/** How somebody gets an account, and another password. Each of it signs in, for it ends the sessions that there are. */
@Controller('api')
export class AccountController {
  constructor(
    private readonly people: People,
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly visitors: Visitors,
    private readonly accounts: Accounts,
    private readonly organizations: Organizations,
  ) {}

  @Post('invitations/accept')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @Access({ key: false, cors: false })
  async accept(
    @JsonBody(acceptance) { token, email, password }: z.output<typeof acceptance>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.output<typeof whoami>> {
    if (email !== undefined && password !== undefined)
      return this.#enter(await this.people.signUp(token, { email, password }, request.ip), request, reply);
    const person = this.visitors.personOf(request);
    if (!person) throw new TelemetryError('not_signed_in', 'Sign in, or send the email and the password of a new account.');
    await this.people.join(token, person);
    return toWhoami(person, this.accounts, this.organizations);
  }

  @Post('auth/password')
  @HttpCode(200)
  @Access({ key: false, person: true, cors: false })
  async change(
    @PersonParam() person: Person,
    @JsonBody(newPassword) body: z.output<typeof newPassword>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.output<typeof whoami>> {
    const account = await this.signIn.confirm(person, body.current_password, originOf(request), this.visitors.tokenOf(request));
    return this.#enter(await this.people.setPassword(account, body.password), request, reply);
  }

  @Post('auth/password/reset')
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @Access({ key: false, cors: false })
  async reset(
    @JsonBody(passwordReset) { token, password }: z.output<typeof passwordReset>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.output<typeof whoami>> {
    return this.#enter(await this.people.resetPassword(token, password), request, reply);
  }

  async #enter(account: Account, request: FastifyRequest, reply: FastifyReply): Promise<z.output<typeof whoami>> {
    const token = await this.visitors.enter(account, request, reply);
    return toWhoami(this.sessions.personOf(token), this.accounts, this.organizations);
  }
}
