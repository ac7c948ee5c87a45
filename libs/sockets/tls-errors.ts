/** What an error of TLS means. `at` is the other side as `host:port`; the words end a sentence that begins with what does not work. */
const meanings: readonly (readonly [code: RegExp, words: (at: string) => string])[] = [
  [/^CERT_HAS_EXPIRED$/, (at) => `the certificate of ${at} has expired, so renew it there`],
  [/^CERT_NOT_YET_VALID$/, (at) => `the certificate of ${at} is not valid yet, so compare the clocks`],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_(SIGNATURE_FAILURE|UNTRUSTED|CHAIN_TOO_LONG|REVOKED)|INVALID_(CA|PURPOSE))$/,
    (at) => `no trusted authority has signed the certificate of ${at}, so check the setting that names the CA`,
  ],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, (at) => `the certificate of ${at} is for other names, so connect by one that it has`],
  [/^ERR_SSL_.*ALERT_(\w+_)?(CERTIFICATE|CA)(_|$)/, (at) => `${at} wants a client certificate that it trusts`],
  [/^ERR_(SSL|TLS)_/, (at) => `${at} and we do not agree on TLS: is this its port for TLS?`],
];

/** What went wrong with a connection, in words; undefined when it is not about TLS. */
export function inWords(error: unknown, at: string): string | undefined {
  const code = (error as { readonly code?: string } | undefined)?.code ?? '';
  return meanings.find(([pattern]) => pattern.test(code))?.[1](at);
}

/** Whether a connection failed because of TLS, which is not over in a moment. */
export const isTlsError = (error: unknown): boolean => inWords(error, '') !== undefined;
