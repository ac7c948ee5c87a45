import { Get, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ForgottenPasswords } from '../../people/forgotten-passwords.js';
import { type Form, FormParam, typed } from '../form.js';
import { type Html, html } from '../html.js';
import { Pages } from '../pages.js';
import { problemNote, refused } from '../refused.js';
import { Shown } from '../shown.js';
import { layout } from '../layout.js';

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

const title = 'Forgotten password';

/** @param canSend whether this server sends mail. */
const forgotPage = (canSend: boolean, email = '', problem?: string): Html =>
  layout({
    title,
    main: html`<div class="narrow centre card">
      <h1>${title}</h1>
      ${canSend ? form(email, problem) : askOperator}
      <p class="quiet"><a href="/sign-in">Back to sign in</a></p>
    </div>`,
  });

const form = (email: string, problem: string | undefined): Html =>
  html`<p>You get a mail with a link that sets another password.</p>
    ${problemNote(problem)}
    <form method="post" action="/forgot">
      <div>
        <label for="email">E-mail address</label>
        <input type="email" id="email" name="email" value="${email}" autocomplete="username" required ?autofocus="${email === ''}" />
      </div>
      <p><button>Send the link</button></p>
    </form>`;

const askOperator = html`<p>
  This server sends no mail. Ask whoever runs it for a link that sets another password: <code>headwater people reset</code> makes one.
</p>`;

/** The same for every address. */
const mailedPage = (email: string): Html =>
  layout({
    title: 'Look into your mail',
    main: html`<div class="narrow centre card">
      <h1>Look into your mail</h1>
      <p>If <strong>${email}</strong> has an account here, a mail with a link is on its way. The link works once, and for an hour.</p>
      <p class="quiet">
        Nothing there? Look among unwanted mail, or <a href="/forgot">ask again</a>. No more than a few are sent in an hour.
      </p>
    </div>`,
  });
