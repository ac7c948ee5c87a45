import { Controller, HttpCode, Post } from '@nestjs/common';
import type { z } from 'zod';
import { Access, CallerParam, JsonBody, Rates, SourceId } from '#edge';
import { fitsUtf8, maxParamsBytes, TelemetryError, type Caller } from '#model';
import { CommandSender } from './command-sender.js';
import { commandBody, type commandReceipt } from './commands.api.js';

@Controller('v1/sources/:source_id/commands')
export class CommandsController {
  constructor(
    private readonly sender: CommandSender,
    private readonly rates: Rates,
  ) {}

  @Post()
  @Access({ changes: true })
  @HttpCode(200)
  async send(
    @CallerParam() caller: Caller,
    @SourceId() sourceId: string,
    @JsonBody(commandBody) { command, params }: z.output<typeof commandBody>,
  ): Promise<z.output<typeof commandReceipt>> {
    const text = JSON.stringify(params ?? {});
    if (!fitsUtf8(text, maxParamsBytes)) throw new TelemetryError('params_too_large', 'Send params of at most 64 KiB as JSON.');
    this.rates.charge(caller, 'bytes', Buffer.byteLength(text));
    const id = await this.sender.send(caller.orgId, sourceId, command, text);
    return id === undefined ? { queued: false } : { queued: true, id };
  }
}
