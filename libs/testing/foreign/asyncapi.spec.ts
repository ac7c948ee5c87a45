import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { installed } from './npm-package.js';

/** What the test needs of @asyncapi/parser. */
interface Parsed {
  readonly document?: { readonly channels: () => { readonly all: () => readonly { readonly id: () => string }[] } };
  readonly diagnostics: readonly { readonly severity: number; readonly message: string; readonly path: readonly (string | number)[] }[];
}
interface Parser {
  parse(text: string): Promise<Parsed>;
}

/** Of the diagnostics of the parser: what makes a document wrong, where 2 is advice. */
const maxSeverity = 1;

describe('asyncapi.json, for tools that are not ours', () => {
  it('is valid for the parser of AsyncAPI', async () => {
    const folder = await installed('@asyncapi/parser', '3.6.6');
    const asyncApi = createRequire(join(folder, 'index.js'))('@asyncapi/parser') as { readonly Parser: new () => Parser };
    const parser = new asyncApi.Parser();
    const text = readFileSync(resolve('apps/control/asyncapi.json'), 'utf8');
    const complaints = ({ diagnostics }: Parsed): string[] =>
      diagnostics.filter(({ severity }) => severity <= maxSeverity).map(({ message, path }) => `${path.join('/')}: ${message}`);
    const parsed = await parser.parse(text);
    expect(complaints(parsed)).toEqual([]);
    const document = JSON.parse(text) as Record<string, Record<string, object>>;
    const ids = parsed.document
      ?.channels()
      .all()
      .map((channel) => channel.id());
    expect(ids).toEqual(Object.keys(document['channels']!));
    const { device } = document['channels']!;
    for (const wrong of [
      { asyncapi: '4.0.0' },
      { info: {} },
      { channels: { device: { ...device, messages: [] } } },
      { channels: { device: { ...device, parameters: { a: { schema: {} } } } } },
      { operations: { a: { action: 'answer', channel: { $ref: '#/channels/device' } } } },
    ])
      expect([wrong, complaints(await parser.parse(JSON.stringify({ ...document, ...wrong })))]).not.toEqual([wrong, []]);
  }, 180_000);
});
