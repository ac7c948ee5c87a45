import type { ClientAuth, Configuration, CustomFetch, IDToken, UserInfoResponse } from 'openid-client';
import { TelemetryError, type Vouched } from '#model';
import { boundedFetch } from './bounded-fetch.js';
import { Sealer } from './sealed.js';

export interface ProviderOptions {
  /** Its issuer URL; empty where there is no provider. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export const noProvider: ProviderOptions = { issuer: '', clientId: '', clientSecret: '' };

/** What the browser of somebody who signs in is given. */
export interface Begun {
  /** The page of the provider to go to. */
  readonly to: string;
  /** To be brought back with the answer: sealed, so that no process has to remember it, and any of them can go on. */
  readonly note: string;
}

/** What stands in a note. */
interface Waiting {
  readonly untilMs: number;
  /** Comes back in the answer: it was this browser that asked. */
  readonly state: string;
  /** Comes back in the token: it was made for this question. */
  readonly nonce: string;
  /** Nobody else can use the code of the answer without it (PKCE). */
  readonly verifier: string;
  /** Where the person wants to go then. */
  readonly next: string;
}

/** A person types a password, and perhaps a second factor, within this time. */
export const maxWaitingMs = 600_000;
/** No answer of the provider is waited for any longer. */
const usualTimeoutS = 5;
/** What the provider says of itself is asked again after this time. */
const discoveryMs = 3_600_000;
/** People whose answers are being checked at the provider at the same time. */
const maxChecks = 20;

type Library = typeof import('openid-client');

/** The OpenID provider that the operator has named: it says who somebody is. It is asked only when somebody signs in by it. */
export class OpenIdProvider {
  readonly #sealer: Sealer;
  #found: { readonly untilMs: number; readonly configuration: Promise<Configuration> } | undefined;
  #checks = 0;

  constructor(
    private readonly options: ProviderOptions,
    private readonly clock: () => number,
    private readonly timeoutS = usualTimeoutS,
  ) {
    this.#sealer = new Sealer(options.clientSecret, 'headwater: somebody signs in by the OpenID provider');
  }

  /** As people know it, its host; undefined where there is no provider. */
  get name(): string | undefined {
    return this.options.issuer === '' ? undefined : new URL(this.options.issuer).host;
  }

  /**
   * @param callback our address that the provider sends the browser back to.
   * @param next comes back with who it is.
   * Rejects `provider_unavailable`.
   */
  async begin(callback: string, next: string): Promise<Begun> {
    const library = await load();
    const configuration = await this.#configuration().catch(unavailable);
    const { randomState, randomNonce, randomPKCECodeVerifier, calculatePKCECodeChallenge, buildAuthorizationUrl } = library;
    const [state, nonce, verifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()];
    const to = buildAuthorizationUrl(configuration, {
      redirect_uri: callback,
      scope: 'openid email',
      state,
      nonce,
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const waiting: Waiting = { untilMs: this.clock() + maxWaitingMs, state, nonce, verifier, next };
    return { to: to.href, note: this.#sealer.seal(waiting) };
  }

  /**
   * Who it is that the provider has sent back.
   *
   * @param answer the address that the browser came to: our callback, and what the provider has added.
   * @param note as `begin` has given it to this browser; undefined when it has none.
   * Rejects `provider_refused`, `provider_unavailable` or `overloaded`.
   */
  async finish(answer: URL, note: string | undefined): Promise<{ readonly who: Vouched; readonly next: string }> {
    const waiting = this.#sealer.open(note ?? '') as Waiting | undefined;
    if (!waiting || waiting.untilMs <= this.clock() || answer.searchParams.getAll('state').join() !== waiting.state)
      throw new TelemetryError('provider_refused', 'Sign in once more: that began too long ago, or in another browser or window.');
    if (this.#checks >= maxChecks)
      throw new TelemetryError('overloaded', 'Too many people are signing in at this moment: try again.', { retryAfterS: 2 });
    this.#checks++;
    try {
      return { who: await this.#check(answer, waiting), next: waiting.next };
    } finally {
      this.#checks--;
    }
  }

  async #check(answer: URL, { state, nonce, verifier }: Waiting): Promise<Vouched> {
    const { authorizationCodeGrant, fetchUserInfo, AuthorizationResponseError, ResponseBodyError } = await load();
    try {
      const configuration = await this.#configuration();
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const tokens = await authorizationCodeGrant(configuration, answer, checks);
      const claims = tokens.claims()!;
      // Providers may keep what is not about the sign-in itself for those who ask for it.
      const said = claims['email'] === undefined ? await fetchUserInfo(configuration, tokens.access_token, claims.sub) : claims;
      return { issuer: claims.iss, subject: claims.sub, ...emailIn(said) };
    } catch (error) {
      // The person has said no there, or the code was used already: everything else is for the operator to mend.
      if (error instanceof AuthorizationResponseError || (error instanceof ResponseBodyError && error.error === 'invalid_grant'))
        throw new TelemetryError('provider_refused', `Sign in once more: the provider has said ${error.error}.`, { cause: error });
      return unavailable(error);
    }
  }

  /** What the provider says of itself. One question answers all who wait for it, and a failure is forgotten. */
  #configuration(): Promise<Configuration> {
    if (this.#found && this.#found.untilMs > this.clock()) return this.#found.configuration;
    const found = { untilMs: this.clock() + discoveryMs, configuration: this.#discover() };
    this.#found = found;
    found.configuration.catch(() => {
      if (this.#found === found) this.#found = undefined;
    });
    return found.configuration;
  }

  async #discover(): Promise<Configuration> {
    const library = await load();
    const { discovery, customFetch, allowInsecureRequests, enableNonRepudiationChecks } = library;
    const { issuer, clientId, clientSecret } = this.options;
    const url = new URL(issuer);
    return discovery(url, clientId, clientSecret, authentication(library, clientSecret), {
      timeout: this.timeoutS,
      [customFetch]: boundedFetch as CustomFetch,
      execute: [enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [allowInsecureRequests] : [])],
    });
  }
}

/** The library is loaded with the first question. */
const load = (): Promise<Library> => import('openid-client');

/** The secret goes as the provider wants it: in a header unless it only takes it in the body. */
function authentication({ ClientSecretBasic, ClientSecretPost }: Library, secret: string): ClientAuth {
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server;
    (methods.includes('client_secret_basic') ? basic : post)(server, ...rest);
  };
}

function emailIn({ email, email_verified: isVerified }: IDToken | UserInfoResponse): Pick<Vouched, 'email' | 'isVerified'> {
  return { email: typeof email === 'string' ? email : '', isVerified: isVerified === true };
}

function unavailable(cause: unknown): never {
  throw new TelemetryError('provider_unavailable', 'Sign in with a password, or try again later: the provider cannot be asked.', { cause });
}
