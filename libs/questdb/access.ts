import type { Credentials, TlsOptions } from '#sockets';

/** How to get into QuestDB over HTTP. */
export interface HttpAccess extends Credentials {
  /** For a URL that begins with `https:`. */
  readonly tls?: TlsOptions;
}

export const credentialsRefused = (status: number): string =>
  `QuestDB refuses us (${status}): check HEADWATER_QUESTDB_USERNAME and HEADWATER_QUESTDB_PASSWORD, or HEADWATER_QUESTDB_TOKEN.`;
