import { Get, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Accounts, checkJson, CLOCK, KeyCommands, Keyring, PublicUrl, type Clock } from '#edge';
import { VIEWS, type View, type Views } from '#log';
import type { Caller, KeyUse } from '#model';
import { keyUses } from '#topics';
import { checkMayGive, newKey } from '../../keys.js';
import { FormParam, typed, type Form } from '../form.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { refused } from '../refused.js';
import { Redirect, Shown } from '../shown.js';
import { ForVisitor, VisitParam, type Visit } from '../visit.js';
import { createdPage, keysPage, type KeyForm, type ShownKey } from './keys-page.js';

const emptyForm: KeyForm = { name: '', scopes: ['write'], sources: '' };

/** Keys of an organization. */
@Pages('keys')
export class KeysPages {
  readonly #uses: View<KeyUse>;

  constructor(
    @Inject(VIEWS) views: Views,
    private readonly keyring: Keyring,
    private readonly commands: KeyCommands,
    private readonly accounts: Accounts,
    private readonly publicUrl: PublicUrl,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#uses = views.open(keyUses);
  }

  @Get()
  @ForVisitor('keys', { payment: false })
  list(@VisitParam() visit: Visit): Html {
    return keysPage(visit, this.#keys(visit.caller), this.clock(), emptyForm);
  }

  @Post()
  @ForVisitor('keys', { payment: false })
  async create(@VisitParam() visit: Visit, @FormParam() form: Form, @Req() request: FastifyRequest): Promise<Shown> {
    const { caller } = visit;
    const asked: KeyForm = { name: typed(form, 'name'), scopes: form.getAll('scope'), sources: typed(form, 'sources') };
    try {
      const sources = asked.sources.split(/[\s,]+/).filter(Boolean);
      const wanted = checkJson(newKey, { name: asked.name, scopes: asked.scopes, ...(sources.length > 0 && { sources }) });
      checkMayGive(caller, wanted.scopes);
      const { key, secret } = await this.commands.create(caller.orgId, wanted, this.keyring.actor(caller));
      return new Shown(createdPage(visit, key, secret, this.publicUrl.link('')), 201);
    } catch (error) {
      return refused(request, error, (problem) => keysPage(visit, this.#keys(caller), this.clock(), { ...asked, problem }));
    }
  }

  /** One that is gone already is gone. */
  @Post(':id/delete')
  @ForVisitor('keys', { payment: false })
  async delete(@VisitParam() { caller }: Visit, @Param('id') keyId: string): Promise<Redirect> {
    await this.commands.delete(caller.orgId, keyId, this.keyring.actor(caller));
    return new Redirect('/keys');
  }

  #keys({ orgId }: Caller): readonly ShownKey[] {
    const keys = this.keyring.list(orgId);
    const nameOf = (id: string): string => this.accounts.get(id)?.email ?? keys.find(({ keyId }) => keyId === id)?.name ?? id;
    return keys.map((key) => ({ key, use: this.#uses.get(key.keyId), maker: nameOf(key.createdBy) }));
  }
}
