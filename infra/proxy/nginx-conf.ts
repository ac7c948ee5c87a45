import { awayAnswer, lostAnswer, patternOf, readConfig, routes, type Answer, type Route } from '#runtime';

/** Where each role listens in its container. */
const { port } = readConfig({});
const commands = '/v1/sources/*/commands';

/** The configuration of nginx before the roles, each of which answers under its own name. */
export function nginxConf(table: readonly Route[] = routes): string {
  const roles = [...new Set(table.map(({ role }) => role))];
  return `# Written by \`npm run roles\` from the table of roles.
worker_processes 1;
worker_rlimit_nofile 32768;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;

events {
  # A WebSocket takes two, so this is room for 10,000 of them.
  worker_connections 20480;
}

http {
  # These addresses are secrets: whoever reads one in a log may use it.
  map $uri $is_logged {
    ~^/api/auth/claim/ 0;
    ~^/(?:join|reset)/ 0;
    default 1;
  }
  access_log /var/log/nginx/access.log combined if=$is_logged;

  # The first that fits, as in the table.
  map $uri $role {
${table.map(({ path, role }) => `    ~${patternOf(path)} ${role};\n`).join('')}    default ${table.at(-1)!.role};
  }

  # Only an upgrade to a WebSocket is passed on.
  map $http_upgrade $upgrade {
    ~*^websocket$ websocket;
    default '';
  }
  map $upgrade $connection_header {
    websocket upgrade;
    default '';
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
    # A WebSocket on which nothing is sent for this long is cut off too: a gateway sends pings more often.
    proxy_read_timeout 75s;
    proxy_set_header Host $host;
    proxy_set_header Connection $connection_header;
    proxy_set_header Upgrade $upgrade;
    proxy_set_header X-Forwarded-For $remote_addr;

    location / { proxy_pass http://$role; }

    # What nginx says itself when a role is away is what the router says then; what a role says passes as it is.
    error_page 502 504 = @away;
${location('away', awayAnswer)}
    # But a gateway may have handed a command over before it went away: whoever sends it again may send it twice.
    location ~ ${patternOf(commands)} {
      proxy_pass http://gateway;
      error_page 502 504 = @lost;
    }
${location('lost', lostAnswer)}
  }
}
`;
}

function location(at: string, answer: (requestId: string) => Answer): string {
  const { status, headers, body } = answer('req_$request_id');
  const { 'content-type': type, ...others } = headers;
  const added = Object.entries(others).map(([name, value]) => `      add_header ${name} ${value} always;\n`);
  return `    location @${at} {\n      default_type ${type};\n${added.join('')}      return ${status} '${body}';\n    }`;
}

const upstream = (role: string): string => `  upstream ${role} {
    zone ${role} 64k;
    server ${role}:${port} resolve;
    keepalive 32;
  }
`;
