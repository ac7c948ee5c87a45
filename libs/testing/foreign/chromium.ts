import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';

/** The Chromium of this machine, or that which the variable CHROMIUM names; undefined where there is none. */
export const chromium = [process.env['CHROMIUM'], 'chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => name && spawnSync(name, ['--version']).status === 0,
);

interface Reply {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly entry?: { readonly text: string };
    readonly request?: { readonly url: string };
    readonly exceptionDetails?: Thrown;
  };
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}
interface Thrown {
  readonly exception?: { readonly description?: string };
}
interface Evaluated {
  readonly result: { readonly value?: unknown };
  readonly exceptionDetails?: Thrown;
}

/** How a page is looked at. */
export interface Look {
  readonly width: number;
  readonly height: number;
  readonly isDark: boolean;
}

/** A page in a browser without a window, driven over the DevTools protocol. */
export class Page {
  /** What the browser has complained of, such as something that a policy of the page forbids, and what scripts of the page have thrown. */
  readonly complaints: string[] = [];
  /** Addresses that it has asked for. */
  readonly requests: string[] = [];
  #calls = 0;

  private constructor(
    private readonly browser: ChildProcess,
    private readonly folder: string,
    private readonly socket: WebSocket,
    private readonly sessionId: string | undefined,
  ) {}

  /** Opens an address. The browser has a profile of its own, which goes away with it. */
  static async open(url: string): Promise<Page> {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-browser-'));
    const options = [
      '--headless',
      '--hide-scrollbars',
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      // Nothing is asked of other hosts.
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--remote-debugging-port=0',
      `--user-data-dir=${folder}`,
    ];
    const browser = spawn(chromium!, [...options, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] });
    try {
      const socket = new WebSocket(await addressOf(browser));
      await once(socket, 'open');
      const blank = new Page(browser, folder, socket, undefined);
      const { targetId } = (await blank.#call('Target.createTarget', { url: 'about:blank' })) as { targetId: string };
      const { sessionId } = (await blank.#call('Target.attachToTarget', { targetId, flatten: true })) as { sessionId: string };
      const page = new Page(browser, folder, socket, sessionId);
      for (const domain of ['Page', 'Log', 'Network', 'Runtime']) await page.#call(`${domain}.enable`);
      page.#listen();
      await page.go(url);
      return page;
    } catch (error) {
      browser.kill('SIGKILL');
      throw error;
    }
  }

  async go(url: string): Promise<void> {
    await this.leads(() => this.#call('Page.navigate', { url }));
  }

  /** Does what makes the browser load another page, and waits for that. */
  async leads(action: () => Promise<unknown>): Promise<void> {
    const loaded = this.#next(({ method }) => method === 'Page.loadEventFired');
    await Promise.all([loaded, action()]);
  }

  /** Ends what the browser keeps of the pages, such as that somebody has signed in. */
  async forget(): Promise<void> {
    await this.#call('Network.clearBrowserCookies');
  }

  async look({ width, height, isDark }: Look): Promise<void> {
    await this.#call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    await this.#call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: isDark ? 'dark' : 'light' }] });
  }

  /** All of the page, as PNG. */
  async screenshot(): Promise<Buffer> {
    const { data } = (await this.#call('Page.captureScreenshot', { captureBeyondViewport: true })) as { data: string };
    return Buffer.from(data, 'base64');
  }

  /** What a function, given as its text, resolves to in the page. */
  async run(text: string, argument: unknown): Promise<unknown> {
    const expression = `(${text})(${JSON.stringify(argument)})`;
    const { result, exceptionDetails } = (await this.#call('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as Evaluated;
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? 'the page threw');
    return result.value;
  }

  async close(): Promise<void> {
    const ended = once(this.browser, 'exit');
    void this.#call('Browser.close').catch(() => undefined);
    await ended;
    this.socket.terminate();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #call(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#calls;
    const reply = this.#next((one) => one.id === id);
    this.socket.send(JSON.stringify({ id, method, params, sessionId: this.sessionId }));
    const { result, error } = await reply;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  #listen(): void {
    this.socket.on('message', (data: Buffer) => {
      const { method, params } = JSON.parse(data.toString()) as Reply;
      if (method === 'Log.entryAdded') this.complaints.push(params!.entry!.text);
      if (method === 'Runtime.exceptionThrown')
        this.complaints.push(params!.exceptionDetails!.exception?.description ?? 'a script has thrown');
      if (method === 'Network.requestWillBeSent') this.requests.push(params!.request!.url);
    });
  }

  #next(isIt: (reply: Reply) => boolean): Promise<Reply> {
    const { socket } = this;
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error('the browser has ended'));
      const look = (data: Buffer): void => {
        const reply = JSON.parse(data.toString()) as Reply;
        if (!isIt(reply)) return;
        socket.off('message', look).off('close', ended);
        resolve(reply);
      };
      socket.on('message', look).once('close', ended);
    });
  }
}

/** Where a browser that was just started listens for the DevTools protocol. */
async function addressOf(browser: ChildProcess): Promise<string> {
  let said = '';
  for await (const chunk of browser.stderr!.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    const [, address] = /DevTools listening on (ws:\S+)/.exec(said) ?? [];
    if (address) {
      // A full pipe would hold the browser up.
      browser.stderr!.resume();
      return address;
    }
  }
  throw new Error(`the browser did not start: ${said}`);
}
