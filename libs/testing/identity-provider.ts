import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Somebody whom the provider knows. */
export interface Someone {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
}

/** An OpenID provider that asks nobody for a password: whoever comes is who `person` is at that moment, or is sent away where that is undefined. */
export class IdentityProvider {
  static readonly clientId = 'headwater';
  static readonly clientSecret = 'a secret of the provider & us: 100%';
  person: Someone | undefined;
  readonly #known = new Map<string, Someone>();

  private constructor(private readonly server: Server) {}

  /** @param callback where it sends people back to. @param isBrief it says nothing of an address until it is asked for it. */
  static async open(callback: string, isBrief = true): Promise<IdentityProvider> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const own = new IdentityProvider(server);
    const Provider = await load();
    const provider = new Provider(own.issuer, own.#configuration(callback, isBrief));
    const answer = provider.callback();
    const meet = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      if (own.person) own.#known.set(own.person.sub, own.person);
      const result = own.person ? { login: { accountId: own.person.sub, remember: false } } : { error: 'access_denied' };
      await provider.interactionFinished(request, response, result);
    };
    server.on('request', (request, response) => {
      if (request.url!.startsWith('/meet/')) meet(request, response).catch((error: unknown) => response.destroy(error as Error));
      else answer(request, response);
    });
    return own;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #configuration(callback: string, isBrief: boolean): object {
    const { clientId, clientSecret } = IdentityProvider;
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const hour = 3600;
    return {
      clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [callback] }],
      adapter: MemoryAdapter,
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
      cookies: { keys: ['of a test'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'] },
      conformIdTokenClaims: isBrief,
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/meet/${uid}` },
      findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => this.#known.get(sub) }),
      loadExistingGrant: grantEverything,
      clientBasedCORS: () => false,
      ttl: { AccessToken: hour, AuthorizationCode: hour, Grant: hour, IdToken: hour, Interaction: hour, Session: hour },
    };
  }
}

/** The library is loaded by those tests only that need it. It warns of each Node that is newer than itself. */
async function load(): Promise<(typeof import('oidc-provider'))['default']> {
  const { warn } = console;
  console.warn = () => {};
  try {
    return (await import('oidc-provider')).default;
  } finally {
    console.warn = warn;
  }
}

interface Grant {
  addOIDCScope(scope: string): void;
  save(): Promise<unknown>;
}
interface Context {
  readonly oidc: {
    readonly client: { readonly clientId: string };
    readonly session: { readonly accountId: string };
    readonly provider: { readonly Grant: new (of: object) => Grant };
  };
}

/** Nobody is asked whether we may know an address. */
async function grantEverything({ oidc: { client, session, provider } }: Context): Promise<Grant> {
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope('openid email');
  await grant.save();
  return grant;
}

interface Stored extends Record<string, unknown> {
  uid?: string;
  consumed?: number;
}

/** What the library keeps, for as long as the test runs. */
class MemoryAdapter {
  readonly #stored = new Map<string, Stored>();

  upsert(id: string, payload: Stored): Promise<void> {
    this.#stored.set(id, payload);
    return Promise.resolve();
  }

  find(id: string): Promise<Stored | undefined> {
    return Promise.resolve(this.#stored.get(id));
  }

  findByUid(uid: string): Promise<Stored | undefined> {
    return Promise.resolve([...this.#stored.values()].find((one) => one.uid === uid));
  }

  consume(id: string): Promise<void> {
    this.#stored.get(id)!.consumed = 1;
    return Promise.resolve();
  }

  destroy(id: string): Promise<void> {
    this.#stored.delete(id);
    return Promise.resolve();
  }

  revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, one] of this.#stored) if (one['grantId'] === grantId) this.#stored.delete(id);
    return Promise.resolve();
  }
}
