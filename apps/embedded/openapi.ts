import { readFileSync } from 'node:fs';
import type { Operation } from '#edge';
import { controlOperations } from '../control/control.api.js';
import { healthOperations } from '../control/health.api.js';
import { openApi } from '../control/openapi.js';
import { ingressOperations } from '../ingress/ingress.api.js';
import { queryOperations } from '../query/query.api.js';

const packageFile = new URL('../../../package.json', import.meta.url);

/** All of the API. */
export const operations: readonly Operation[] = [...ingressOperations, ...queryOperations, ...controlOperations, ...healthOperations];

/** Where the document is kept. */
export const openApiFile = new URL('../../../apps/control/openapi.json', import.meta.url);

/** The OpenAPI document of the whole API, as the file has it. */
export function openApiText(): string {
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };
  return `${JSON.stringify(openApi(operations, version), null, 2)}\n`;
}
