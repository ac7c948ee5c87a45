/** How we say over HTTP who we are: a name and its password, or a token; nothing when all are left out. */
export interface Credentials {
  readonly username?: string;
  readonly password?: string;
  readonly token?: string;
}

/** The header that says it. */
export function authorizationOf({ username, password = '', token }: Credentials): { readonly authorization?: string } {
  if (token) return { authorization: `Bearer ${token}` };
  return username ? { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` } : {};
}
