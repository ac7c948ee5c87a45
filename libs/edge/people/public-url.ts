import { Injectable } from '@nestjs/common';

/** Where people reach the application: what links to it begin with. It never comes from a request. */
@Injectable()
export class PublicUrl {
  readonly #configured: string;
  #listening = '';

  /** @param configured without a slash at its end; empty when nobody has said. */
  constructor(configured: string) {
    this.#configured = configured;
  }

  /** The address that this process listens on stands for one that nobody has said. */
  listensAt(url: string): void {
    this.#listening = url;
  }

  /** Whether everybody comes by TLS. */
  get isSecure(): boolean {
    return this.#configured.startsWith('https:');
  }

  /** Undefined when nobody has said. */
  get origin(): string | undefined {
    return this.#configured === '' ? undefined : new URL(this.#configured).origin;
  }

  /** @param path from its slash on. */
  link(path: string): string {
    return (this.#configured || this.#listening) + path;
  }
}
