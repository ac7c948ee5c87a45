// Serves the page beside it and the client library, and passes what the page reads on to Headwater, with a key that no browser sees. It listens
// on this machine only: whoever reaches it may read. Needs Node 22 and headwater-client.
//
//     HEADWATER_API_KEY=hw_... node serve.js 8090
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import process from 'node:process';
import { pipeline } from 'node:stream';

const [port = '8090'] = process.argv.slice(2);
const { HEADWATER_URL: headwater = 'http://localhost:8080', HEADWATER_API_KEY: key = '' } = process.env;
const { get } = headwater.startsWith('https:') ? https : http;
const library = import.meta.resolve('headwater-client');
const reads = /^\/v1\/sources\/[^/]+\/metrics\/(query|stream)$/;
const types = { html: 'text/html', css: 'text/css', js: 'text/javascript' };
const passedOn = ['content-type', 'cache-control', 'retry-after'];

/** The file at a path: one of the page, or a module of the library. */
function fileAt(path) {
  if (path === '/') return new URL('index.html', import.meta.url);
  if (/^\/chart\.(css|js)$/.test(path)) return new URL(path.slice(1), import.meta.url);
  const [, module] = /^\/client\/((?:[\w-]+\/)*[\w-]+\.js)$/.exec(path) ?? [];
  return module && new URL(module, library);
}

async function serve(file, response) {
  const content = await readFile(file);
  response.writeHead(200, { 'content-type': types[file.pathname.split('.').at(-1)] }).end(content);
}

function pass(path, { accept = '*/*', 'last-event-id': cursor }, response) {
  const headers = { accept, 'x-api-key': key, ...(cursor && { 'last-event-id': cursor }) };
  const asked = get(headwater + path, { headers }, (answer) => {
    response.writeHead(answer.statusCode, Object.fromEntries(Object.entries(answer.headers).filter(([name]) => passedOn.includes(name))));
    // Where one of the two ends, the other one does: a stream goes on until its reader leaves.
    pipeline(answer, response, () => undefined);
  });
  asked.on('error', (error) => fail(error, response));
}

async function take({ method, url, headers }, response) {
  const { pathname, search } = new URL(url, 'http://localhost');
  const file = fileAt(pathname);
  if (method === 'GET' && file) await serve(file, response);
  else if (method === 'GET' && reads.test(pathname)) pass(pathname + search, headers, response);
  else response.writeHead(404).end();
}

function fail(error, response) {
  if (response.headersSent) response.destroy();
  else response.writeHead(error.code === 'ENOENT' ? 404 : 502).end();
}

const server = http.createServer((request, response) => void take(request, response).catch((error) => fail(error, response)));
server.listen(Number(port), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/?source=greenhouse&metric=air.temperature&minutes=5`);
});
