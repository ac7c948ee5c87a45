import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { describe, expect } from '@jest/globals';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { itIf } from '../api/stage.js';

const schema = schemaOfAsyncApi();

/** The schema of AsyncAPI 3.0, as its authors publish it; undefined where it is not installed. */
function schemaOfAsyncApi(): object | undefined {
  try {
    const file = createRequire(import.meta.url).resolve('@asyncapi/specs/schemas/3.0.0.json');
    return JSON.parse(readFileSync(file, 'utf8')) as object;
  } catch {
    return undefined;
  }
}

describe('asyncapi.json, for tools that are not ours', () => {
  itIf(schema !== undefined)('is valid for the schema of AsyncAPI 3.0', () => {
    // The schema brings that of JSON Schema itself.
    const ajv = new Ajv({ strict: false, logger: false, meta: false, validateSchema: false });
    addFormats.default(ajv);
    const validate = ajv.compile(schema!);
    const document = JSON.parse(readFileSync(resolve('apps/control/asyncapi.json'), 'utf8')) as Record<string, unknown>;
    expect([validate(document), validate.errors]).toEqual([true, null]);
    const { device } = document['channels'] as Record<string, object>;
    for (const wrong of [
      { asyncapi: '4.0.0' },
      { info: {} },
      { channels: { device: { ...device, messages: [] } } },
      { channels: { device: { ...device, parameters: { a: { schema: {} } } } } },
      { operations: { a: { action: 'answer', channel: { $ref: '#/channels/device' } } } },
    ])
      expect([wrong, validate({ ...document, ...wrong })]).toEqual([wrong, false]);
  });
});
