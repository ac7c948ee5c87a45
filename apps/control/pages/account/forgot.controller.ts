import { Get, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ForgottenPasswords } from '../../people/forgotten-passwords.js';
import { FormParam, typed, type Form } from '../form.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { refused } from '../refused.js';
import { Shown } from '../shown.js';
import { forgotPage, mailedPage } from './forgot-page.js';

/** The way to another password for who has forgotten theirs. */
@Pages('forgot')
export class ForgotPages {
  constructor(private readonly forgotten: ForgottenPasswords) {}

  @Get()
  form(): Html {
    return forgotPage(this.forgotten.canSend);
  }

  @Post()
  ask(@FormParam() form: Form, @Req() request: FastifyRequest): Shown {
    const { canSend } = this.forgotten;
    const email = typed(form, 'email').trim();
    if (!canSend || email === '') return new Shown(forgotPage(canSend));
    try {
      this.forgotten.ask(email, request.ip);
      return new Shown(mailedPage(email));
    } catch (error) {
      return refused(request, error, (problem) => forgotPage(canSend, email, problem));
    }
  }
}
