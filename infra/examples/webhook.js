// Receives alerts: checks the signature of each request, prints what it tells, and ends after so many. Needs nothing but Node 22.
//
//     HEADWATER_WEBHOOK_SECRET=whsec_... node webhook.js 8099 2
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import process from 'node:process';

const [port = '8099', count = 'Infinity'] = process.argv.slice(2);
const secret = Buffer.from(process.env.HEADWATER_WEBHOOK_SECRET.replace(/^whsec_/, ''), 'base64');
const maxAgeS = 300;
const seen = new Set();

/** As https://www.standardwebhooks.com says; there are libraries for this. */
function isSigned(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < maxAgeS)) return false;
  const expected = Buffer.from(`v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`);
  return signatures.split(' ').some((one) => one.length === expected.length && timingSafeEqual(Buffer.from(one), expected));
}

async function take(request, response) {
  const body = Buffer.concat(await request.toArray()).toString();
  if (!isSigned(request.headers, body)) return response.writeHead(401).end();
  response.end();
  // The same id comes again where our answer was lost.
  const id = request.headers['webhook-id'];
  if (seen.has(id)) return undefined;
  seen.add(id);
  const { type, source_id: source, metric, value, message } = JSON.parse(body);
  console.log(type, source ?? '', metric ?? '', value ?? '', message ?? '');
  return seen.size >= Number(count) && server.close();
}

const server = createServer((request, response) => void take(request, response));
server.listen(Number(port), '127.0.0.1');
