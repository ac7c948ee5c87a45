import { awayAnswer, routes, type Route } from '#runtime';

/** Where each role listens in its container. */
const port = 8080;

/** The configuration of nginx before the roles, each of which answers under its own name. */
export function nginxConf(table: readonly Route[] = routes): string {
  const roles = [...new Set(table.map(({ role }) => role))];
  return `# Made from the table of routes by \`npm run proxy\`.
map $http_upgrade $connection_header {
  default upgrade;
  '' '';
}

resolver 127.0.0.11 valid=5s;

${roles.map(upstream).join('\n')}
server {
  listen 8080;
  merge_slashes off;
  client_max_body_size 0;
  client_header_timeout 30s;
  large_client_header_buffers 4 32k;

  proxy_http_version 1.1;
  proxy_request_buffering off;
  proxy_buffering off;
  proxy_connect_timeout 5s;
  proxy_read_timeout 75s;
  proxy_set_header Host $host;
  proxy_set_header Connection $connection_header;
  proxy_set_header Upgrade $http_upgrade;
  proxy_set_header X-Forwarded-For $remote_addr;

${table.map(location).join('\n')}

  # What nginx says itself when a role is away is what the router says then; what a role says passes as it is.
  error_page 502 504 = @away;
${away()}
}
`;
}

function away(): string {
  const { status, headers, body } = awayAnswer('req_$request_id');
  const { 'content-type': type, ...others } = headers;
  const added = Object.entries(others).map(([name, value]) => `    add_header ${name} ${value} always;\n`);
  return `  location @away {\n    default_type ${type};\n${added.join('')}    return ${status} '${body}';\n  }`;
}

const upstream = (role: string): string => `upstream ${role} {
  zone ${role} 64k;
  server ${role}:${port} resolve;
  keepalive 32;
}
`;

const location = ({ path, role }: Route): string =>
  `  location ${path.endsWith('/*') ? path.slice(0, -1) : `= ${path}`} { proxy_pass http://${role}; }`;
