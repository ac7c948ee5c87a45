import { Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import type { z } from 'zod';
import { CallerParam, JsonBody, KeyCommands, Keyring, RequireScope, WithoutPayment } from '#edge';
import { TelemetryError, type Caller } from '#model';
import { newKey, toListed, type createdKey, type listedKey } from './keys.js';

/** Keys of the caller's organization. Whoever has not paid yet may still manage them. */
@Controller('api/api-keys')
@RequireScope('admin')
@WithoutPayment()
export class KeysController {
  constructor(
    private readonly keyring: Keyring,
    private readonly commands: KeyCommands,
  ) {}

  @Get()
  list(@CallerParam() { orgId }: Caller): z.output<typeof listedKey>[] {
    return this.keyring.list(orgId).map(toListed);
  }

  @Post()
  async create(
    @CallerParam() { orgId }: Caller,
    @JsonBody(newKey) { name, scopes = ['write'] }: z.output<typeof newKey>,
  ): Promise<z.output<typeof createdKey>> {
    const { key, secret } = await this.commands.create(orgId, name, [...new Set(scopes)]);
    return { ...toListed(key), api_key: secret };
  }

  @Delete(':id')
  @HttpCode(204)
  async delete(@CallerParam() { orgId }: Caller, @Param('id') keyId: string): Promise<void> {
    if (await this.commands.delete(orgId, keyId)) return;
    throw new TelemetryError('unknown_api_key', 'List the keys with GET /api/api-keys: your organization has none with this id.');
  }
}
