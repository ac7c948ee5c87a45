import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and text as they came. */
  readonly data: string;
}

/** As much of an SMTP server as a client needs to send mail. */
export class SmtpServer {
  readonly received: ReceivedMail[] = [];
  /** What it says to who connects. */
  greeting = '220 ready';
  /** What it answers to the text of a mail; only one that begins with 2 has it kept. */
  answer = '250 kept';
  /** Mails that it has not kept. */
  refused = 0;

  private constructor(private readonly server: Server) {}

  static async open(): Promise<SmtpServer> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const smtp = new SmtpServer(server);
    server.on('connection', (socket) => void smtp.#serve(socket).catch(() => socket.destroy()));
    return smtp;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<unknown> {
    return new Promise((resolve) => this.server.close(resolve));
  }

  async #serve(socket: Socket): Promise<void> {
    let from = '';
    let to: string[] = [];
    let data: string[] | undefined;
    const say = (line: string): boolean => socket.write(`${line}\r\n`);
    const takeText = (line: string): void => {
      if (line !== '.') return void data!.push(line);
      if (this.answer.startsWith('2')) this.received.push({ from, to, data: data!.join('\n') });
      else this.refused++;
      [data, to] = [undefined, []];
      say(this.answer);
    };
    const takeCommand = (line: string): void => {
      const [, verb = ''] = /^(\w+)/.exec(line) ?? [];
      const address = /<(.*)>/.exec(line)?.[1] ?? '';
      if (/mail/i.test(verb)) from = address;
      if (/rcpt/i.test(verb)) to.push(address);
      if (/data/i.test(verb)) data = [];
      say(/data/i.test(verb) ? '354 go on' : /quit/i.test(verb) ? '221 bye' : '250 ok');
    };
    say(this.greeting);
    let rest = '';
    for await (const chunk of socket.setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\r\n');
      rest = lines.pop()!;
      for (const line of lines) (data ? takeText : takeCommand)(line);
    }
  }
}
