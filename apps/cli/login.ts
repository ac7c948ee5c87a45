import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from 'node:child_process';
import { z } from 'zod';
import {
  defaultUrl,
  headerValue,
  HeadwaterError,
  readSettings,
  request,
  type Server,
  serverUrl,
  settingsFile,
  writeSettings,
} from '#client';
import { boundSourcePattern } from '#model';
import { ask } from './ask.js';
import { command } from './command.js';
import { Failure, mayPass, usage } from './failure.js';
import type { Io } from './io.js';

const startedClaim = z.object({
  device_code: z.string().min(1),
  user_code: z.string(),
  verification_url: z.string(),
  expires_in: z.number().positive(),
  interval: z.number().positive(),
});
type StartedClaim = z.output<typeof startedClaim>;

const polledClaim = z.object({
  status: z.enum(['pending', 'approved', 'denied', 'expired']),
  api_key: z.string().optional(),
  org_id: z.string().optional(),
});

const again = 'Run `headwater login` again for a new code.';

export const body = command({
  about:
    'Asks the server for a key, which a person who is signed in there approves in a browser, and writes it to the file that `headwater init` ' +
    'writes. Opens the browser where there is one, and prints the address and the code to compare. Ends after 15 minutes without an approval.',
  flags: {
    url: { value: 'URL', about: `address of the server (else HEADWATER_URL, the file of \`init\`, ${defaultUrl})` },
    name: { value: 'NAME', about: 'what asks for the key, so that who approves knows it', default: hostname() },
    source: {
      value: 'ID',
      about: 'a source that the key is to be for, or the beginning of ids and `*`; may be repeated. Without it: every source',
      many: true,
    },
  },
  interactive: true,
  examples: ['headwater login', 'headwater login --url https://telemetry.example.com', 'headwater login --name press-7 --source press-7'],
  async run({ url: given, name, source: sources }, io) {
    const wrong = sources.find((pattern) => !boundSourcePattern.test(pattern));
    if (wrong !== undefined) throw usage(`"${wrong}" is neither a source id nor the beginning of one and *.`);
    const url = serverUrl(
      given || process.env['HEADWATER_URL'] || (await ask('Address of the server', (await readSettings()).url ?? defaultUrl)),
    );
    const server = { url, apiKey: undefined };
    const asked = JSON.stringify({ name, scopes: ['read', 'write'], ...(sources.length > 0 && { sources }) });
    const claim = checked(
      startedClaim,
      await request(server, '/api/auth/claim', { method: 'POST', body: asked, signal: io.interrupted }),
      url,
    );
    io.note(`Sign in and compare this code before you approve: ${claim.user_code}`);
    io.note(
      openInBrowser(claim.verification_url) ? 'A browser opens at this address; else open it yourself:' : 'Open this address in a browser:',
    );
    io.note(`  ${claim.verification_url}`);
    const { apiKey, orgId } = await approval(server, claim, io);
    await writeSettings({ url, apiKey: headerValue(apiKey) });
    io.note(`Approved for the organization ${orgId}. Wrote ${settingsFile()}.`);
  },
});

/** Waits for the person. Rejects `Failure` when there will be no key. */
async function approval(
  server: Server,
  { device_code: code, interval, expires_in: expiresS }: StartedClaim,
  io: Io,
): Promise<{ readonly apiKey: string; readonly orgId: string }> {
  const endMs = performance.now() + expiresS * 1000;
  let waitMs = interval * 1000;
  while (performance.now() < endMs) {
    await sleep(waitMs, undefined, { signal: io.interrupted }).catch(() => io.interrupted.throwIfAborted());
    const polled = await poll(server, code, io);
    waitMs = Math.max(interval * 1000, typeof polled === 'number' ? polled : 0);
    if (typeof polled === 'number') continue;
    const { status, api_key: apiKey, org_id: orgId = '' } = checked(polledClaim, polled, server.url);
    if (status === 'approved' && apiKey) return { apiKey, orgId };
    if (status === 'approved')
      throw new Failure(`The key was handed out already, and not to this command. ${again} If nobody else ran it, delete that key.`);
    if (status === 'denied') throw new Failure(`The request was denied. ${again}`);
    if (status === 'expired') break;
  }
  throw new Failure(`Nobody has approved within ${Math.round(expiresS / 60)} minutes. ${again}`);
}

/** The answer, or how many milliseconds to wait longer than usual: the server is busy, or away for a moment. */
async function poll(server: Server, code: string, io: Io): Promise<unknown> {
  try {
    return await request(server, `/api/auth/claim/${encodeURIComponent(code)}`, { signal: io.interrupted });
  } catch (error) {
    if (!mayPass(error)) throw error;
    return (error as HeadwaterError).retryAfterMs ?? 0;
  }
}

function checked<T>(schema: z.ZodType<T>, answer: unknown, url: string): T {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new Failure(`${url} does not answer as a Headwater server does: is it one, and not an older one?`);
}

/** The command that opens an address in the browser of the person, with what stands before the address. */
const openers: Partial<Record<NodeJS.Platform, readonly [command: string, ...before: string[]]>> = {
  darwin: ['open'],
  freebsd: ['xdg-open'],
  linux: ['xdg-open'],
  openbsd: ['xdg-open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Where there is a display: on a machine without one, such as over SSH, a browser would open in the terminal. */
const hasDisplay = (): boolean =>
  openers[process.platform]?.[0] !== 'xdg-open' || Boolean(process.env['DISPLAY'] || process.env['WAYLAND_DISPLAY']);

/**
 * Opens an address in the browser where there is one, without waiting and without a shell. Does nothing for what is no web address.
 *
 * @returns whether it was tried; nobody knows whether the person sees it.
 */
function openInBrowser(address: string): boolean {
  const url = URL.parse(address);
  const opener = openers[process.platform];
  if (!url || !/^https?:$/.test(url.protocol) || !opener || !hasDisplay()) return false;
  const [program, ...before] = opener;
  const child = spawn(program, [...before, url.href], { stdio: 'ignore', detached: true });
  // The address is on the terminal too.
  child.on('error', () => undefined);
  child.unref();
  return true;
}
