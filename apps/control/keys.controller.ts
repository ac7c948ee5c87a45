import { Controller, Delete, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import type { z } from 'zod';
import { Access, CallerParam, JsonBody, KeyCommands, Keyring } from '#edge';
import { VIEWS, type View, type Views } from '#log';
import { TelemetryError, type Caller, type KeyUse } from '#model';
import { keyUses } from '#topics';
import { checkMayGive, newKey, toListed, type createdKey, type listedKey } from './keys.js';

/** Keys of the caller's organization. Whoever has not paid yet may still manage them. */
@Controller('api/api-keys')
@Access({ may: 'keys', payment: false })
export class KeysController {
  readonly #uses: View<KeyUse>;

  constructor(
    @Inject(VIEWS) views: Views,
    private readonly keyring: Keyring,
    private readonly commands: KeyCommands,
  ) {
    this.#uses = views.open(keyUses);
  }

  @Get()
  list(@CallerParam() { orgId }: Caller): z.output<typeof listedKey>[] {
    return this.keyring.list(orgId).map((key) => toListed(key, this.#uses.get(key.keyId)));
  }

  @Post()
  async create(
    @CallerParam() caller: Caller,
    @JsonBody(newKey) { name, scopes, sources }: z.output<typeof newKey>,
  ): Promise<z.output<typeof createdKey>> {
    checkMayGive(caller, scopes);
    const { key, secret } = await this.commands.create(
      caller.orgId,
      { name, scopes: [...new Set(scopes)], sources },
      this.keyring.actor(caller),
    );
    return { ...toListed(key), api_key: secret };
  }

  @Delete(':id')
  @HttpCode(204)
  async delete(@CallerParam() caller: Caller, @Param('id') keyId: string): Promise<void> {
    if (await this.commands.delete(caller.orgId, keyId, this.keyring.actor(caller))) return;
    throw new TelemetryError('unknown_api_key', 'List the keys with GET /api/api-keys: your organization has none with this id.');
  }
}
