interface ErrorCase {
  /** What went wrong in general; the edge maps each kind to one HTTP status. */
  readonly kind: string;
  /** Short and the same every time. */
  readonly title: string;
  /** What a person can do about it. */
  readonly remedy: string;
}

/** The closed list of codes that an answer may carry. A code never changes its meaning. */
export const errorCases = {
  invalid_json: { kind: 'invalid', title: 'The body is not JSON', remedy: 'Send one JSON value encoded as UTF-8.' },
  json_too_deep: { kind: 'invalid', title: 'The JSON is nested too deep', remedy: 'Nest objects and arrays at most 64 deep.' },
  invalid_gzip: { kind: 'invalid', title: 'The gzip body is broken', remedy: 'Send one complete gzip stream and nothing after it.' },
  invalid_request: {
    kind: 'invalid',
    title: 'The HTTP request is malformed',
    remedy: 'Send a well-formed HTTP/1.1 request with each header once.',
  },
  invalid_body: { kind: 'invalid', title: 'The body has the wrong shape', remedy: 'See the request body of this route in /openapi.json.' },
  invalid_points: {
    kind: 'invalid',
    title: 'The body has bad points',
    remedy: 'Mend the points that `errors` names and send the whole body again: nothing of it was stored.',
  },
  invalid_source_id: {
    kind: 'invalid',
    title: 'The source id is not valid',
    remedy: 'Use 1 to 256 of A-Z a-z 0-9 . _ : @ + - and begin with a letter or digit.',
  },
  invalid_metric: {
    kind: 'invalid',
    title: 'The metric name is not valid',
    remedy: 'Use 1 to 256 bytes of UTF-8 without NUL or lone surrogates.',
  },
  invalid_window: {
    kind: 'invalid',
    title: 'The window is not valid',
    remedy: 'Use last=15m, last=6h or last=7d, or start and end together as ISO 8601 with start before end.',
  },
  invalid_interval: { kind: 'invalid', title: 'The interval is not valid', remedy: 'Use one of raw, 1m, 10m, 1h, 1d.' },
  invalid_limit: { kind: 'invalid', title: 'The limit is out of range', remedy: 'Use a whole number from 1 to 10000.' },
  invalid_parameter: { kind: 'invalid', title: 'A parameter is not valid', remedy: 'See the parameters of this route in /openapi.json.' },
  monitor_changed: {
    kind: 'invalid',
    title: 'The monitor was changed meanwhile',
    remedy: 'Look at the monitor as it is now, then save your change again if you still want it.',
  },
  too_many_keys: {
    kind: 'invalid',
    title: 'There are too many keys',
    remedy: 'Delete keys that nobody uses: an organization has at most 10,000. The list says when each was last used.',
  },
  too_many_monitors: {
    kind: 'invalid',
    title: 'There are too many monitors',
    remedy: 'Delete monitors that nobody needs: a source has at most 100 and an organization 10,000.',
  },
  email_taken: {
    kind: 'invalid',
    title: 'The address has an account',
    remedy: 'Sign in with it, then use the invitation again.',
  },
  already_member: {
    kind: 'invalid',
    title: 'The person belongs to the organization',
    remedy: 'Keep the invitation for somebody else, or change the role with PATCH /api/people/{id}.',
  },
  last_owner: {
    kind: 'invalid',
    title: 'An organization keeps an owner',
    remedy: 'Make somebody else an owner first.',
  },
  operator_organization: {
    kind: 'invalid',
    title: 'The organization of the operator stays',
    remedy: 'Delete its sources, monitors and keys one by one: each start of the server would make the organization again.',
  },
  too_many_people: {
    kind: 'invalid',
    title: 'There are too many people or invitations',
    remedy: 'An organization has at most 1,000 people, and 100 invitations that are open: remove some first.',
  },
  too_many_alert_notes: {
    kind: 'invalid',
    title: 'Too many conditions are silenced',
    remedy: 'Let some silence end: an organization silences at most 10,000 conditions of devices.',
  },
  target_not_allowed: {
    kind: 'invalid',
    title: 'Alerts cannot be sent there',
    remedy:
      'Use a URL on the public internet, or have the operator allow its network (HEADWATER_ALERT_NETWORKS) or configure mail (HEADWATER_SMTP_URL).',
  },
  too_many_alert_targets: {
    kind: 'invalid',
    title: 'The organization has too many alert targets',
    remedy: 'Delete a target that is not needed any more: an organization has at most 20.',
  },
  unsigned_alert_target: {
    kind: 'invalid',
    title: 'The alert target has no secret',
    remedy: 'Ask for another secret of targets of kind webhook: requests to other kinds are not signed.',
  },
  invalid_key: {
    kind: 'unauthenticated',
    title: 'The API key is missing or not valid',
    remedy: 'Send a key of this server in the x-api-key header.',
  },
  not_signed_in: {
    kind: 'unauthenticated',
    title: 'Nobody has signed in',
    remedy:
      'Sign in with POST /api/auth/sign-in and send its cookie. A session ends 30 days after its last use, and with another password.',
  },
  wrong_password: {
    kind: 'unauthenticated',
    title: 'The address and the password do not belong together',
    remedy:
      'Check both. The page `/forgot` sends a link that sets another password, or the operator makes one with `headwater people reset`.',
  },
  payment_required: {
    kind: 'payment_required',
    title: 'No payment method on file',
    remedy: 'Put a payment method on file for the organization of this key.',
  },
  missing_scope: { kind: 'forbidden', title: 'The key lacks a scope', remedy: 'Use a key that has the scope which the detail names.' },
  cross_site: {
    kind: 'forbidden',
    title: 'Another site has asked for it',
    remedy: 'Do it on a page of this server. Behind a proxy, HEADWATER_PUBLIC_URL has to say what address browsers see.',
  },
  no_organization: {
    kind: 'forbidden',
    title: 'No organization of yours is named',
    remedy: 'Name one of those that GET /api/auth/session lists in the x-organization-id header.',
  },
  missing_role: {
    kind: 'forbidden',
    title: 'The role may not do this',
    remedy:
      'Ask an owner of the organization: a viewer reads, a member also manages keys, monitors and alert targets, an owner also people and keys with the scope admin.',
  },
  foreign_invitation: {
    kind: 'forbidden',
    title: 'The invitation is for another address',
    remedy: 'Sign in or sign up with the address that was invited.',
  },
  foreign_identity: {
    kind: 'forbidden',
    title: 'The account belongs to somebody else at the provider',
    remedy:
      'Sign in with a password: a link that sets one comes from the page `/forgot`, or from the operator with `headwater people reset`.',
  },
  unproven_email: {
    kind: 'forbidden',
    title: 'The provider does not vouch for the address',
    remedy: 'Have the address confirmed at the provider: only one with `email_verified` counts here.',
  },
  not_invited: {
    kind: 'forbidden',
    title: 'Nobody has invited this address',
    remedy: 'Ask an owner of your organization for an invitation, and open its link first if it is for whoever has it.',
  },
  provider_refused: {
    kind: 'forbidden',
    title: 'The provider has not let you in',
    remedy: 'Begin again on the page that signs people in. What the provider says counts for ten minutes, and in the browser that asked.',
  },
  foreign_source: {
    kind: 'forbidden',
    title: 'The key is not for this source',
    remedy: 'Use a key for the source that the detail names, or leave that source out: nothing of the body was stored.',
  },
  unknown_route: { kind: 'not_found', title: 'There is no such route', remedy: 'See /openapi.json for the routes of this server.' },
  unknown_source: {
    kind: 'not_found',
    title: 'The source is not known',
    remedy: 'A source exists once it has sent a point or is connected.',
  },
  unknown_claim: {
    kind: 'not_found',
    title: 'There is no such claim',
    remedy: 'Compare the code. A claim is over after 15 minutes, and once it is approved or denied: start another one.',
  },
  unknown_api_key: { kind: 'not_found', title: 'The organization has no such key', remedy: 'List the keys with GET /api/api-keys.' },
  unknown_organization: {
    kind: 'not_found',
    title: 'There is no such organization',
    remedy: 'List the organizations with GET /api/organizations.',
  },
  unknown_invitation: {
    kind: 'not_found',
    title: 'There is no such invitation',
    remedy: 'Ask for another one: an invitation is for one person, and over after 7 days.',
  },
  unknown_person: {
    kind: 'not_found',
    title: 'The organization has no such person',
    remedy: 'List the people with GET /api/people.',
  },
  unknown_reset: {
    kind: 'not_found',
    title: 'There is no such link',
    remedy: 'Ask for another one: a link sets one password, and is over after a day, or after an hour when it came by mail.',
  },
  unknown_session: {
    kind: 'not_found',
    title: 'The account has no such session',
    remedy: 'List the sessions with GET /api/auth/sessions.',
  },
  unknown_monitor: {
    kind: 'not_found',
    title: 'The organization has no such monitor',
    remedy: 'List the monitors with GET /api/monitors.',
  },
  unknown_alert: { kind: 'not_found', title: 'The organization has no such alert', remedy: 'List the alerts with GET /api/alerts.' },
  unknown_alert_target: {
    kind: 'not_found',
    title: 'The organization has no such alert target',
    remedy: 'List the targets with GET /api/alert-targets.',
  },
  method_not_allowed: {
    kind: 'method_not_allowed',
    title: 'The route has no such method',
    remedy: 'Use a method that the Allow header lists.',
  },
  upgrade_required: {
    kind: 'upgrade_required',
    title: 'The route is a WebSocket',
    remedy: 'Ask for a WebSocket with a client library for them.',
  },
  unsupported_content_type: {
    kind: 'unsupported_media',
    title: 'The content type is not supported',
    remedy: 'Send Content-Type: application/json.',
  },
  unsupported_content_encoding: {
    kind: 'unsupported_media',
    title: 'The content encoding is not supported',
    remedy: 'Send the body plain or with Content-Encoding: gzip, once.',
  },
  body_too_large: {
    kind: 'too_large',
    title: 'The body is too large',
    remedy: 'Split the points: a body is at most 5 MiB, as sent and after inflating.',
  },
  too_many_points: { kind: 'too_large', title: 'The body has too many points', remedy: 'Split the points: a body has at most 10,000.' },
  params_too_large: {
    kind: 'too_large',
    title: 'The parameters of the command are too large',
    remedy: 'Send params of at most 64 KiB as JSON; what is larger the device can fetch by itself.',
  },
  uri_too_long: { kind: 'uri_too_long', title: 'The URL is too long', remedy: 'Ask for fewer metrics at once.' },
  headers_too_large: {
    kind: 'headers_too_large',
    title: 'The headers are too large',
    remedy: 'Send fewer and shorter headers: 16 KiB in all.',
  },
  over_rate: { kind: 'over_rate', title: 'Too much at once', remedy: 'Wait for as long as Retry-After says, then go on.' },
  too_many_failed_keys: {
    kind: 'over_rate',
    title: 'Too many failed keys from this address',
    remedy: 'Wait for as long as Retry-After says and use a valid key.',
  },
  too_many_sign_ins: {
    kind: 'over_rate',
    title: 'Too many wrong passwords',
    remedy: 'Wait for as long as Retry-After says, or sign in from an address or a browser that you have used before.',
  },
  too_many_mails: {
    kind: 'over_rate',
    title: 'Too many mails were asked for',
    remedy: 'Look into your mail for those that were sent, or wait for as long as Retry-After says.',
  },
  too_many_claims: {
    kind: 'over_rate',
    title: 'Too many claims are open',
    remedy: 'Approve or deny those that are open, or wait: each is over after 15 minutes.',
  },
  too_many_wrong_codes: {
    kind: 'over_rate',
    title: 'Too many wrong codes',
    remedy: 'Wait for as long as Retry-After says, and use the code that the device or the command shows.',
  },
  too_many_series: {
    kind: 'over_rate',
    title: 'Too many new devices, series or tag sets',
    remedy:
      'Send what is known already; new names fit again after Retry-After. Keep counters, times and random ids out of source ids, metric names and tags, or have the operator raise the limit.',
  },
  gateway_unreachable: {
    kind: 'unreachable',
    title: 'No gateway has answered',
    remedy:
      'The device may or may not have got the command: look for its command.result among the logs of the device before you send it again.',
  },
  overloaded: { kind: 'unavailable', title: 'The server is at its limit', remedy: 'Send the same body again after Retry-After.' },
  slow_body: { kind: 'unavailable', title: 'The request came too slowly', remedy: 'Send the whole request within 30 seconds.' },
  provider_unavailable: {
    kind: 'unavailable',
    title: 'The OpenID provider cannot be asked',
    remedy: 'Sign in with a password, or try again later. The server log says what is wrong.',
  },
  log_unavailable: {
    kind: 'unavailable',
    title: 'The log cannot be written',
    remedy: 'Send the same stamped body again after Retry-After: nothing was acknowledged.',
  },
  store_unavailable: { kind: 'unavailable', title: 'The store cannot be read', remedy: 'Ask again after Retry-After.' },
  not_ready: {
    kind: 'unavailable',
    title: 'The server is not ready',
    remedy: 'Ask again after Retry-After: `reasons` says what is missing.',
  },
  log_corrupt: {
    kind: 'internal',
    title: 'The log is damaged',
    remedy: 'The operator finds the place in the server log; restore the log from a copy.',
  },
  store_corrupt: {
    kind: 'internal',
    title: 'The store is damaged',
    remedy: 'The operator finds the place in the server log; `headwater rebuild` makes the store again from the log.',
  },
  internal: { kind: 'internal', title: 'Something went wrong here', remedy: 'Try again; report the request_id if it happens again.' },
} as const satisfies Record<string, ErrorCase>;
export type ErrorCode = keyof typeof errorCases;
export type ErrorKind = (typeof errorCases)[ErrorCode]['kind'];

/** One thing that is wrong with a body. */
export interface Flaw {
  /** JSON pointer (RFC 6901) into the body. */
  readonly pointer: string;
  readonly code: string;
  /** A sentence that says what to change. */
  readonly detail: string;
}

interface TelemetryErrorOptions extends ErrorOptions {
  readonly flaws?: readonly Flaw[];
  readonly retryAfterS?: number;
}

/** The only error our code throws on purpose: the edge maps its kind to a status, the runner reads `retryable`. */
export class TelemetryError extends Error {
  override readonly name = 'TelemetryError';
  /** The first 20 things wrong with a body. */
  readonly flaws: readonly Flaw[];
  readonly retryAfterS: number | undefined;

  /** @param detail a sentence that says what to change; never a key, a body, SQL or a path. */
  constructor(
    readonly code: ErrorCode,
    detail: string,
    options: TelemetryErrorOptions = {},
  ) {
    super(detail, options);
    this.flaws = options.flaws?.slice(0, 20) ?? [];
    this.retryAfterS = options.retryAfterS;
  }

  get kind(): ErrorKind {
    return errorCases[this.code].kind;
  }

  get retryable(): boolean {
    return this.kind === 'unavailable';
  }
}
