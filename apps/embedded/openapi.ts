import { readFileSync } from 'node:fs';
import type { Operation } from '#edge';
import { healthOperations } from '../control/health.api.js';
import { openApi } from '../control/openapi.js';
import { operationsOfRoles } from './operations.js';

const packageFile = new URL('../../../package.json', import.meta.url);

/** Of this server. */
export const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };

const files: Readonly<Record<string, readonly Operation[]>> = {
  ...operationsOfRoles,
  'apps/control/health.api.ts': healthOperations,
};

/** All of the API. */
export const operations: readonly Operation[] = Object.values(files).flat();

/** Where the document is kept. */
export const openApiFile = new URL('../../../apps/control/openapi.json', import.meta.url);

/** The OpenAPI document of the whole API, as the file has it. */
export function openApiText(): string {
  return `${JSON.stringify(openApi(operations, version), null, 2)}\n`;
}

/** Where this text differs first from the document of the API, which file says so and what to do; undefined when it does not differ. */
export function openApiDrift(kept: string): string | undefined {
  const made = openApiText();
  if (kept === made) return undefined;
  const place = firstDifference(JSON.parse(kept), JSON.parse(made)) ?? [];
  const [top, path] = place;
  const file = Object.keys(files).find((name) => top === 'paths' && files[name]!.some((operation) => operation.path === path));
  return `apps/control/openapi.json differs at ${place.join(' ') || 'the order of its lines'} from ${file ?? 'apps/control/openapi.ts and the schemas that it uses'}. Edit the definition there, not the JSON, and run \`npm run openapi\`.`;
}

/** The place at which two JSON values differ first; undefined when they do not. */
export function firstDifference(a: unknown, b: unknown): readonly string[] | undefined {
  if (!isObject(a) || !isObject(b)) return a === b ? undefined : [];
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const below = firstDifference(a[name], b[name]);
    if (below) return [name, ...below];
  }
  return undefined;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;
