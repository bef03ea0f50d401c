/** Records which targets failed and why, so that the failure of a page has a reason instead of a browser error code. */
import type { IncomingMessage } from 'node:http';
import { portOf, type TargetRefusal } from '../../core/scan/targets.ts';
import { errorMessage } from '../../platform/errors.ts';
import { ProxyRefused } from '../../platform/outbound-proxy.ts';

/** `refused` by the target rules, `unresolvable` name, `unreachable` host, or `cut` off at a size limit. */
export type EgressFailureKind = 'refused' | 'unresolvable' | 'unreachable' | 'cut';

export interface EgressFailure {
  kind: EgressFailureKind;
  message: string;
}

/** A response header that only the proxy may set, in responses of its own. The value is the kind of the failure. */
export const EGRESS_HEADER = 'x-curbcut-egress';

/** Pages can invent host names, so memory is bounded. */
const MAX_TARGETS = 1000;
const MAX_KEPT = 2 * MAX_TARGETS;

export function kindOf(reason: TargetRefusal): EgressFailureKind {
  return reason === 'unresolvable' || reason === 'dns_unavailable' ? 'unresolvable' : 'refused';
}

export function createEgressFailures() {
  const reported = new Set<string>();
  /** By target, and by URL: another request to the same target may succeed meanwhile. */
  const latest = new Map<string, EgressFailure>();
  const targetOf = (url: URL): string => `${hostOf(url)}:${portOf(url)}`;
  const keep = (key: string, failure: EgressFailure): void => {
    if (latest.size < MAX_KEPT || latest.has(key)) latest.set(key, failure);
  };
  return {
    /** Records a failure. Returns true the first time for this host, port and kind. */
    add(url: URL, kind: EgressFailureKind, message: string): boolean {
      const target = targetOf(url);
      keep(target, { kind, message });
      keep(url.href, { kind, message });
      const key = `${kind} ${target}`;
      if (reported.has(key) || reported.size >= MAX_TARGETS) return false;
      reported.add(key);
      return true;
    },
    /** Removes the failures of a URL and its target, because it was reached. */
    reached(url: URL): void {
      latest.delete(targetOf(url));
      latest.delete(url.href);
    },
    /** The failure of the last request for the URL, or else of the last attempt to reach its host and port, if it failed. */
    failureOf: (url: URL): EgressFailure | undefined => latest.get(url.href) ?? latest.get(targetOf(url)),
  };
}

export type EgressFailures = ReturnType<typeof createEgressFailures>;

/** The host of a URL for sockets: without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** The code of a network error, such as `ECONNREFUSED`, or its message. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return (error as NodeJS.ErrnoException).code ?? errorMessage(error);
}

/** Explains network errors of Node and Chromium in sentences that the owner of a site can act on. Pure. */
const INCOMPLETE_CHAIN =
  'its TLS certificate is not signed by a known authority. Install a certificate of a public authority with its complete chain';
const EXPIRED = 'its TLS certificate has expired, or is not valid yet. Renew the certificate';
const OTHER_NAME = 'its TLS certificate is for another host name. Install a certificate for this name';
const HANDSHAKE = 'the TLS handshake failed. Allow TLS 1.2 or later, and check that the port speaks TLS';

/** By the code of Node (OpenSSL, system calls) or Chromium, without `net::ERR_`. */
const EXPLANATIONS: readonly [codes: RegExp, text: string][] = [
  [
    /^(?:CERT_AUTHORITY_INVALID|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF).*)$/,
    INCOMPLETE_CHAIN,
  ],
  [/^(?:CERT_DATE_INVALID|CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/, EXPIRED],
  [/^(?:CERT_COMMON_NAME_INVALID|ERR_TLS_CERT_ALTNAME_INVALID)$/, OTHER_NAME],
  [/^CERT_(?:REVOKED)$/, 'its TLS certificate was revoked. Install a new one'],
  [/^CERT_|^ERR_TLS_CERT/, 'its TLS certificate is invalid'],
  [/^(?:SSL_|ERR_SSL_|EPROTO|BAD_SSL)/, HANDSHAKE],
  [/^TOO_MANY_REDIRECTS$/, 'it keeps redirecting. Check the redirects of this address, for example between http and https'],
  [/^(?:EMPTY_RESPONSE|UND_ERR_SOCKET)$/, 'it closed the connection without a response'],
  [/^(?:CONNECTION_RESET|CONNECTION_CLOSED|CONNECTION_ABORTED|SOCKET_NOT_CONNECTED|ECONNRESET|EPIPE)$/, 'it closed the connection'],
  [/^(?:CONNECTION_REFUSED|ECONNREFUSED)$/, 'it refused the connection'],
  [/^(?:ADDRESS_UNREACHABLE|EHOSTUNREACH|ENETUNREACH)$/, 'no route leads to it'],
  [/^(?:CONNECTION_TIMED_OUT|TIMED_OUT|ETIMEDOUT|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/, 'it did not answer in time'],
  [/^(?:NAME_NOT_RESOLVED|ENOTFOUND|EAI_AGAIN)$/, 'its name cannot be resolved'],
  [/^(?:INCOMPLETE_CHUNKED_ENCODING|CONTENT_LENGTH_MISMATCH|HTTP2_|QUIC_)/, 'the connection ended before the whole response had arrived'],
  [
    /^(?:INVALID_HTTP_RESPONSE|INVALID_CHUNKED_ENCODING|INVALID_REDIRECT|RESPONSE_HEADERS_|CONTENT_DECODING_FAILED|HPE_|INVALID_RESPONSE)/,
    'its response is not valid HTTP',
  ],
];

/** Returns what happened, in words without the subject (the server), or null if the code is unknown. */
export function explainNetworkError(code: string): string | null {
  const bare = code.replace(/^net::ERR_/, '');
  return EXPLANATIONS.find(([codes]) => codes.test(bare))?.[1] ?? null;
}

/** Returns a sentence about a failed connection, with the code for a search. */
export function networkFailureMessage(host: string, code: string): string {
  const bare = code.replace(/^net::ERR_/, '');
  const explained = explainNetworkError(code);
  return explained === null ? `${host} is unreachable (${bare}).` : `Loading from ${host} failed: ${explained} (${bare}).`;
}

/** Returns a sentence about a connection that failed. @param through the proxy that was asked for it, or null */
export function connectFailure(url: URL, error: unknown, through: URL | null): string {
  if (through === null) return networkFailureMessage(url.host, codeOf(error));
  const reason = error instanceof ProxyRefused ? error.message : `the outbound proxy or the host did not answer (${codeOf(error)})`;
  return `${url.host} was not reached: ${reason}.`;
}

/**
 * Whether the outbound proxy answers in place of the site: with 407, for which browsers would ask the visitor for a password, or with an
 * error that it marks. The site, or proxies in front of it, may mark errors too. The last member of `Proxy-Status` is of the nearest proxy
 * (RFC 9209, 2), unless that adds none. An answer that was forwarded has the forwarding proxies in `Via`, so one of the outbound proxy has
 * at most itself. An error of a proxy behind the outbound one counts as the site's.
 */
export function isProxyError({ statusCode = 0, headers }: Pick<IncomingMessage, 'statusCode' | 'headers'>): boolean {
  if (statusCode === 407) return true;
  if ((statusCode !== 403 && statusCode < 500) || membersOf(headers.via).length > 1) return false;
  return headers['x-squid-error'] !== undefined || /;\s*error=/.test(membersOf(headers['proxy-status']).at(-1) ?? '');
}

/** The members of a list in a header, without the content of strings and comments, which may contain commas. */
const membersOf = (header: string | string[] = ''): string[] =>
  String(header)
    .replaceAll(/"(?:[^"\\]|\\.)*"|\([^()]*\)/g, '')
    .split(',');
