import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}

interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { responses: Readonly<Record<string, { content?: Record<string, { schema: Schema }> }>> }>>>
  >;
}

const { components, paths } = JSON.parse(readFileSync(`${root}apps/control/openapi.json`, 'utf8')) as OpenApi;
const answer = (path: string): Schema => paths[path]!['get']!.responses['200']!.content!['application/json']!.schema;

/** Names of the document where they are not ours too. */
const documented: Readonly<Record<string, Schema>> = {
  SourceState: components.schemas['Device']!,
  FleetHealth: answer('/v1/fleet/health'),
  VerifiedKey: answer('/api/auth/verify-key'),
};

const types = [
  ...Object.keys(documented),
  'AggregatedSeries',
  'Alert',
  'ApiKey',
  'Backtest',
  'CommandReceipt',
  'CreatedApiKey',
  'DefinedMonitor',
  'FleetMetrics',
  'LogEntry',
  'Monitor',
  'MonitorPatch',
  'NewApiKey',
  'NewBacktest',
  'NewMonitor',
  'Offline',
  'RawSeries',
  'Series',
  'Silence',
  'Threshold',
];

/** A schema as the type of its values. */
function typeOf(schema: Schema): string {
  const { type, properties, required = [], additionalProperties } = schema;
  if (schema.$ref) return typeOf(components.schemas[schema.$ref.split('/').at(-1)!]!);
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf) return schema.anyOf.map((one) => `(${typeOf(one)})`).join(' | ');
  if (Array.isArray(type)) return type.map((one: string) => `(${typeOf({ ...schema, type: one })})`).join(' | ');
  if (type === 'array') return `readonly (${typeOf(schema.items!)})[]`;
  if (type === 'integer' || type === 'number') return 'number';
  if (type !== 'object') return type === undefined ? 'unknown' : (type as string);
  if (!properties)
    return `{ readonly [name: string]: ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'} }`;
  const fields = Object.entries(properties).map(
    ([name, field]) => `readonly ${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(field)};`,
  );
  return `{ ${fields.join(' ')} }`;
}

/** What the compiler says against these lines, which stand beside our types. */
function flaws(lines: readonly string[]): readonly string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: [],
    lib: ['lib.es2024.d.ts'],
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    skipLibCheck: true,
  };
  const file = `${root}libs/client/reader/compared.ts`;
  const host = ts.createCompilerHost(options);
  const disk = ts.createCompilerHost(options);
  host.fileExists = (name) => name === file || disk.fileExists(name);
  host.readFile = (name) => (name === file ? [head, ...lines].join('\n') : disk.readFile(name));
  host.getSourceFile = (name, version) => {
    const text = host.readFile(name);
    return text === undefined ? undefined : ts.createSourceFile(name, text, version);
  };
  return ts.getPreEmitDiagnostics(ts.createProgram([file], options, host)).map(({ messageText, start, file: at }) => {
    const line = at && start !== undefined ? lines[at.getLineAndCharacterOfPosition(start).line - 1] : '';
    return `${line?.slice(0, 40)} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

/** Every member, at any depth, and whether it may be missing: assignability alone does not look at that. */
const head =
  "import type * as Ours from './types.js'; " +
  'type Flat<T> = T extends object ? { [K in keyof T]: Flat<T[K]> } : T; ' +
  'type Same<A, B> = (<X>() => X extends Flat<A> ? 1 : 2) extends <X>() => X extends Flat<B> ? 1 : 2 ? true : false;';

const compared = (name: string, type: string): string => `export const ${name}: Same<Ours.${name}, ${type}> = true;`;

it('our types are those of the document of the server', () => {
  expect(flaws(types.map((name) => compared(name, typeOf(documented[name] ?? components.schemas[name]!))))).toEqual([]);
});

it('a difference is found', () => {
  const others = ['{ readonly until_ms?: number }', '{ readonly until_ms: number; readonly more?: string }', '{}', '{ until_ms: number }'];
  const lines = ['{ readonly until_ms: number }', ...others].map((type) => compared('Silence', type).replace('Silence', `a${type.length}`));
  expect(flaws(lines)).toEqual(others.map((type) => expect.stringMatching(`^export const a${type.length}: .*is not assignable`)));
});
