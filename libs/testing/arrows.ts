import { posix } from 'node:path';
import ts from 'typescript';
import { roles } from '#runtime';

/** What the parts of a role may use: no adapter, no composition. */
const ports = ['model', 'log', 'topics', 'stores'];
const faces = [...ports, 'edge'];
const adapters = ['kafka', 'questdb', 'sqlite'];
const apps = [...roles, 'embedded', 'cli'];

/** Who may import whom. Tests and `libs/testing` may import anything. */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  model: [],
  launch: [],
  // What people install: it stands alone.
  client: [],
  log: ['model'],
  stores: ['model'],
  topics: ['model', 'log'],
  // Connections to servers, plain or with TLS.
  sockets: [],
  kafka: [...ports, 'sockets'],
  questdb: [...ports, 'sockets'],
  sqlite: ports,
  // Between us and the world: what comes in, and what goes out where people say.
  edge: ports,
  // Nobody else opens adapters: for the command line too it opens data folders and the data plane.
  runtime: [...faces, ...adapters],
  ...Object.fromEntries(roles.map((role) => [role, faces])),
  console: ['model'],
  embedded: [...faces, ...apps],
  cli: [...faces, ...apps, 'client', 'runtime'],
  // The bench and the build scripts talk to a server over HTTP, as a stand-alone client does. They ask `runtime` which roles and settings
  // there are, and measure the client library.
  infra: ['runtime', 'client'],
};

/** Which of ours may import a client library: the bench measures some as they come. What is not listed may be imported anywhere but in `model`. */
export const ownersOf: Readonly<Record<string, readonly string[]>> = {
  kafkajs: ['kafka', 'infra'],
  '@kafkajs/confluent-schema-registry': ['kafka', 'infra'],
  '@node-rs/crc32': ['kafka'],
  pg: ['questdb'],
  '@questdb/nodejs-client': ['questdb', 'infra'],
  'node:sqlite': ['sqlite', 'infra'],
  'ipaddr.js': ['edge'],
  standardwebhooks: ['edge'],
  nodemailer: ['edge'],
  'openid-client': ['edge'],
  avsc: ['topics'],
  pino: ['runtime'],
  'pino-pretty': ['runtime'],
  commander: ['cli'],
};

/** All that `model` may take from outside: functions of their arguments, with no I/O, clock or randomness of their own. */
const pureModules = ['node:buffer', 'node:crypto', 'node:util', 'node:zlib'];

/** One import as it stands in a file. */
export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** `erased` leaves nothing behind in the compiled file. */
  readonly when: 'static' | 'dynamic' | 'erased';
}

/** The imports of a TypeScript text, re-exports and `import()` included, in file order. */
export function importsOf(text: string): readonly Import[] {
  return ts.preProcessFile(text).importedFiles.map(({ fileName, pos }) => {
    const before = text.slice(0, pos);
    return { specifier: fileName, line: before.split('\n').length, when: kindOf(before) };
  });
}

function kindOf(before: string): Import['when'] {
  if (/\bimport\s*\(\s*$/.test(before)) return /\btypeof\s+import\s*\(\s*$/.test(before) ? 'erased' : 'dynamic';
  const statement = before.slice(Math.max(before.lastIndexOf('import '), before.lastIndexOf('export ')));
  return /^(import|export)\s+type\b/.test(statement) ? 'erased' : 'static';
}

/** The part of the house that a path like `libs/log/view.ts` stands in: the name of the lib or app, or `infra`. */
export function unitOf(path: string): string | undefined {
  const [top, name] = path.split('/');
  return top === 'infra' ? 'infra' : name;
}

/** The room of the house that a path stands in, as a newcomer counts them: the apps together are one, and each lib is one. */
export function roomOf(path: string): string {
  const [top, name] = path.split('/');
  return top === 'libs' ? name! : top!;
}

/** The file of ours that an import means, as a path from the root; undefined when it is a package. */
export function targetOf(path: string, specifier: string): string | undefined {
  if (specifier.startsWith('#')) return `libs/${specifier.slice(1)}/index.ts`;
  if (!specifier.startsWith('.')) return undefined;
  return posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts');
}

/**
 * How many floors a lib has inside: a room stands one floor above the highest one that it imports. A file is a room, and so is a folder of files.
 *
 * @param files of the lib, tests left out.
 */
export function floorsOf(files: readonly string[], read: (path: string) => string): number {
  const roomIn = (path: string): string => path.split('/').slice(0, 3).join('/');
  const rooms = Map.groupBy(files, roomIn);
  const floors = new Map<string, number>();
  const floorOf = (room: string): number => {
    if (!floors.has(room)) {
      // Of rooms that import each other none is above the other.
      floors.set(room, 0);
      const targets = rooms.get(room)!.flatMap((path) => importsOf(read(path)).flatMap(({ specifier }) => targetOf(path, specifier) ?? []));
      const others = [...new Set(targets.map(roomIn))].filter((other) => other !== room && rooms.has(other));
      floors.set(room, 1 + Math.max(0, ...others.map(floorOf)));
    }
    return floors.get(room)!;
  };
  return Math.max(...[...rooms.keys()].map(floorOf));
}

const anything = (path: string): boolean => path.endsWith('.spec.ts') || path.startsWith('libs/testing/');

/** Why this import breaks the architecture, in words; undefined when it does not. */
export function breach(path: string, found: Import): string | undefined {
  const unit = unitOf(path)!;
  const target = targetOf(path, found.specifier);
  return target === undefined
    ? packageBreach(path, unit, found.specifier)
    : (doorBreach(path, unit, target, found) ?? arrowBreach(path, unit, target, found));
}

function packageBreach(path: string, unit: string, specifier: string): string | undefined {
  if (anything(path)) return undefined;
  const name = specifier.startsWith('@') ? specifier.split('/', 2).join('/') : specifier.split('/', 1)[0]!;
  if (unit === 'model' && !pureModules.includes(name)) return `model is pure: from outside it takes ${pureModules.join(', ')} only`;
  const owners = ownersOf[name];
  return owners && !owners.includes(unit) ? `${name} is imported by ${owners.join(' and ')} only` : undefined;
}

function doorBreach(path: string, unit: string, target: string, { specifier }: Import): string | undefined {
  const other = unitOf(target)!;
  if (other === unit) return specifier.startsWith('#') ? `inside ${unit} an import is relative` : undefined;
  if (target.startsWith('libs/') && !/^#[a-z]+$/.test(specifier)) return `${other} is entered through its index, as #${other}`;
  return path.startsWith('infra/') && target.startsWith('apps/') ? 'infra talks to a server over HTTP' : undefined;
}

function arrowBreach(path: string, unit: string, target: string, { when }: Import): string | undefined {
  const other = unitOf(target)!;
  if (other === unit || anything(path)) return undefined;
  const allowed = mayImport[unit];
  if (!allowed) return `${unit} is not a part of the architecture: add it to the table with what it may import`;
  if (unit === 'runtime' && adapters.includes(other))
    return when === 'static' ? 'runtime loads an adapter by import(), so that one shape never loads the adapters of the other' : undefined;
  if (['runtime', 'launch'].includes(other) && path === `apps/${unit}/main.ts`) return undefined;
  if (allowed.includes(other)) return undefined;
  const main = apps.includes(unit) ? '; its main.ts also runtime and launch' : '';
  return `${unit} may import ${allowed.join(', ') || 'nothing of ours'}${main}`;
}

/**
 * Everything that is loaded when `entry` is, dynamic imports not followed: for each file of ours and each package the chain that leads there.
 *
 * @param read the text of a file of ours; undefined when there is none.
 */
export function staticClosure(entry: string, read: (path: string) => string | undefined): ReadonlyMap<string, readonly string[]> {
  const chains = new Map<string, readonly string[]>([[entry, [entry]]]);
  for (const [path, chain] of chains) {
    for (const { specifier, when } of importsOf(read(path) ?? '')) {
      const next = targetOf(path, specifier) ?? specifier;
      if (when === 'static' && !chains.has(next)) chains.set(next, [...chain, next]);
    }
  }
  return chains;
}
