import type { Transporter } from 'nodemailer';
import type { MailMessage } from '#model';

export interface MailOptions {
  /** `smtp://` or `smtps://`, perhaps with a name and password; empty where there is no server. */
  readonly server: string;
  /** The address that mail comes from. */
  readonly from: string;
}

const maxWaitMs = 10_000;

/** Sends mail through the server that the operator has named. */
export class MailSender {
  #transport: Promise<Transporter> | undefined;

  constructor(private readonly options: MailOptions) {}

  /** Whether there is a server. */
  get isConfigured(): boolean {
    return this.options.server !== '';
  }

  /** Resolves once the server has taken the mail. Rejects when it refuses it or does not answer. @param id the same for the same mail. */
  async send(id: string, { to, subject, text }: MailMessage): Promise<void> {
    if (!this.isConfigured) throw new Error('The operator has configured no mail server (HEADWATER_SMTP_URL).');
    const { from } = this.options;
    this.#transport ??= this.#open();
    const transport = await this.#transport;
    await transport.sendMail({
      from: { name: 'Headwater', address: from },
      // As an object it is one address, whatever stands in it.
      to: { name: '', address: to },
      subject,
      text,
      messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
  }

  /** The library is loaded with the first mail. */
  async #open(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    const { server } = this.options;
    const url = new URL(server);
    const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
    return createTransport({
      url: server,
      // A password goes to no other machine in the open.
      ...(url.username !== '' && !isHere && { requireTLS: true }),
      connectionTimeout: maxWaitMs,
      greetingTimeout: maxWaitMs,
      socketTimeout: maxWaitMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }
}
