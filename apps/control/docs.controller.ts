import { Controller, Get, Header, Param } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { WithoutKey } from '#edge';
import { TelemetryError } from '#model';
import { errorPage, explainedCodes } from './error-page.js';

const documentText = (name: string): Buffer => readFileSync(new URL(`../../../apps/control/${name}`, import.meta.url));

/** What a client's author reads. */
@Controller()
@WithoutKey()
export class DocsController {
  readonly #openApi = documentText('openapi.json');
  readonly #asyncApi = documentText('asyncapi.json');

  @Get('openapi.json')
  @Header('content-type', 'application/json; charset=utf-8')
  openApi(): Buffer {
    return this.#openApi;
  }

  @Get('asyncapi.json')
  @Header('content-type', 'application/json; charset=utf-8')
  asyncApi(): Buffer {
    return this.#asyncApi;
  }

  @Get('errors/:code')
  @Header('content-type', 'text/plain; charset=utf-8')
  error(@Param('code') code: string): string {
    const known = explainedCodes.find((one) => one === code);
    if (known) return errorPage(known);
    throw new TelemetryError('unknown_route', 'Check the code: no error of this server has it.');
  }
}
