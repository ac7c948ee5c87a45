import { spawn } from 'node:child_process';

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
export function openInBrowser(address: string): boolean {
  const url = URL.parse(address);
  const opener = openers[process.platform];
  if (!url || !/^https?:$/.test(url.protocol) || !opener || !hasDisplay()) return false;
  const [command, ...before] = opener;
  const child = spawn(command, [...before, url.href], { stdio: 'ignore', detached: true });
  // The address is on the terminal too.
  child.on('error', () => undefined);
  child.unref();
  return true;
}
