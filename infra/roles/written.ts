import { entryOf, roles, roleTable, type Role } from '#runtime';
import { nginxConf } from '../proxy/nginx-conf.js';

/**
 * What follows from the table of roles, by the path of its file.
 *
 * @param read the text of a file as it stands, for those of which only a part follows.
 */
export function written(read: (path: string) => string): ReadonlyMap<string, string> {
  return new Map([
    ['infra/proxy/nginx.conf', nginxConf()],
    ['infra/compose.yaml', composeYaml(read('infra/compose.yaml'))],
    ['nest-cli.json', nestCli()],
    ['apps/embedded/embedded.module.ts', embeddedModule()],
    ['apps/embedded/operations.ts', operations()],
  ]);
}

const note = 'Written by `npm run roles` from the table of roles.';
const faces = roles.filter((role) => roleTable[role].paths.length > 0);

const begin = '  # From here to the end of the services: written by `npm run roles` from the table of roles.\n';
const end = '\nnetworks:\n';

/** The services of the roles and the proxy before them, in place of those that the file has. */
function composeYaml(kept: string): string {
  const [before, after] = [kept.split(begin)[0]!, kept.split(end)[1]!];
  return `${before}${begin}${roles.map(service).join('\n')}\n${proxy()}${end}${after}`;
}

function service(role: Role): string {
  const { limits } = roleTable[role];
  const deploy = limits ? `    deploy: { resources: { limits: { cpus: '${limits.cpus}', memory: ${limits.memory} } } }\n` : '';
  return `  ${role}:\n    <<: *role\n    command: [dist/${entryOf(role)}]\n${deploy}`;
}

const proxy = (): string => `  proxy:
    image: nginx:1.29-alpine
    ports: ['127.0.0.1:8080:8080']
    volumes: ['./proxy/nginx.conf:/etc/nginx/nginx.conf:ro']
    depends_on:
${roles.map((role) => `      ${role}: { condition: ${faces.includes(role) ? 'service_healthy' : 'service_started'} }\n`).join('')}    healthcheck:
      test: [CMD, wget, -q, -O, /dev/null, 'http://127.0.0.1:8080/health']
      interval: 5s
      timeout: 3s
      retries: 12
    restart: unless-stopped
    deploy: { resources: { limits: { cpus: '1', memory: 256M } } }
`;

function nestCli(): string {
  const compilerOptions = { tsConfigPath: 'tsconfig.json' };
  const project = (name: string): object => {
    const root = `apps/${name}`;
    return { type: 'application', root, sourceRoot: root, entryFile: 'main', compilerOptions };
  };
  const projects = Object.fromEntries(['embedded', ...roles, 'cli'].map((name) => [name, project(name)]));
  const { root, sourceRoot } = project('embedded') as { root: string; sourceRoot: string };
  const cli = {
    $schema: 'https://json.schemastore.org/nest-cli',
    monorepo: true,
    root,
    sourceRoot,
    compilerOptions: { builder: 'tsc', ...compilerOptions },
    projects,
  };
  return `${JSON.stringify(cli, null, 2)}\n`;
}

const classOf = (role: Role): string => `${role[0]!.toUpperCase()}${role.slice(1)}Module`;

const embeddedModule = (): string => `// ${note}
import { Module } from '@nestjs/common';
${roles.map((role) => `import { ${classOf(role)} } from '../${role}/${role}.module.js';\n`).join('')}
/** All roles in one process. */
@Module({ imports: [${roles.map(classOf).join(', ')}] })
export class EmbeddedModule {}
`;

const operations = (): string => `// ${note}
import type { Operation } from '#edge';
${faces.map((role) => `import { ${role}Operations } from '../${role}/${role}.api.js';\n`).join('')}
/** What each role answers, by the file that says it. */
export const operationsOfRoles: Readonly<Record<string, readonly Operation[]>> = {
${faces.map((role) => `  'apps/${role}/${role}.api.ts': ${role}Operations,\n`).join('')}};
`;
