import { Controller, Get, Header, Param } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { WithoutKey } from '#edge';
import { TelemetryError } from '#model';
import { errorPage, explainedCodes } from './error-page.js';

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
    const known = explainedCodes.find((one) => one === code);
    if (known) return errorPage(known);
    throw new TelemetryError('unknown_route', 'Check the code: no error of this server has it.');
  }
}
