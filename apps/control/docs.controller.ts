import { Controller, Get, Header, Param } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { WithoutKey } from '#edge';
import { errorCases, TelemetryError, type ErrorCode } from '#model';
import { errorPage } from './error-page.js';

const openApiFile = new URL('../../../apps/control/openapi.json', import.meta.url);

/** What a client's author reads. */
@Controller()
@WithoutKey()
export class DocsController {
  readonly #openApi = readFileSync(openApiFile);

  @Get('openapi.json')
  @Header('content-type', 'application/json; charset=utf-8')
  openApi(): Buffer {
    return this.#openApi;
  }

  @Get('errors/:code')
  @Header('content-type', 'text/plain; charset=utf-8')
  error(@Param('code') code: string): string {
    if (Object.hasOwn(errorCases, code)) return errorPage(code as ErrorCode);
    throw new TelemetryError('unknown_route', 'Check the code: no error of this server has it.');
  }
}
