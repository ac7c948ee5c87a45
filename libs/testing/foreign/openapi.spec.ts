import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect } from '@jest/globals';
import { itIf } from '../api/stage.js';
import { hasPython, interpreter } from './python.js';

/** What the test needs of @redocly/openapi-core. */
interface Linter {
  createConfig(config: object): Promise<object>;
  lintFromString(input: { source: string; absoluteRef: string; config: object }): Promise<readonly Complaint[]>;
}
interface Complaint {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer?: string }[];
}

const file = resolve('apps/control/openapi.json');
// The compiler does not follow a name in a variable: without the linter the others still run, and this one is named as not run.
const name = '@redocly/openapi-core';
const linter = (await import(name).catch(() => undefined)) as Linter | undefined;

async function complaints(source: string): Promise<readonly string[]> {
  // An old name of a route answers with 308 and nothing else.
  const config = await linter!.createConfig({ extends: ['recommended'], rules: { 'operation-2xx-response': 'off' } });
  const found = await linter!.lintFromString({ source, absoluteRef: file, config });
  return found.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
}

describe('openapi.json, for tools that are not ours', () => {
  itIf(hasPython)('is valid for openapi-spec-validator', async () => {
    const python = await interpreter(resolve('libs/testing/foreign/openapi-requirements.txt'));
    const { stdout } = await promisify(execFile)(python, ['-m', 'openapi_spec_validator', file]);
    expect(stdout.trim()).toBe(`${file}: OK`);
  });

  itIf(linter !== undefined)('has nothing that the linter of Redocly complains of', async () => {
    expect(await complaints(readFileSync(file, 'utf8'))).toEqual([]);
    expect(await complaints('{"openapi":"3.1.1","info":{"title":"","version":"1"},"paths":{}}')).not.toEqual([]);
  });
});
