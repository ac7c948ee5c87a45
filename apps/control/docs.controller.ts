import { Controller, Get, Header, Headers, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { readFileSync } from 'node:fs';
import { Access } from '#edge';
import { TelemetryError } from '#model';
import { errorPage, explainedCodes } from './error-page.js';
import { codePage } from './pages/code-page.js';
import { asPage } from './pages/pages.js';

const documentText = (name: string): Buffer => readFileSync(new URL(`../../../apps/control/${name}`, import.meta.url));

/** What a client's author reads. */
@Controller()
@Access({ key: false })
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

  /** Plain text, and a page for whoever asks for one, as browsers do. */
  @Get('errors/:code')
  error(
    @Param('code') name: string,
    @Headers('accept') accept: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): string | Buffer {
    const code = explainedCodes.find((one) => one === name);
    if (!code) throw new TelemetryError('unknown_route', 'Check the code: no error of this server has it.');
    void reply.headers({ vary: 'accept', 'content-type': 'text/plain; charset=utf-8' });
    return accept?.includes('text/html') ? asPage(reply, codePage(code)) : errorPage(code);
  }
}
