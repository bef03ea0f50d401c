/** Requests in networks of companies: their authorities, and what a failure says. */
import * as tls from 'node:tls';

/** The innermost cause of a failed request: the outer message is only `fetch failed`. */
export function innermost(error: unknown): unknown {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return inner instanceof AggregateError && inner.errors[0] instanceof Error ? inner.errors[0] : inner;
}

const codeOf = (error: unknown): string => (innermost(error) as { code?: string } | null)?.code ?? '';

/** Codes of OpenSSL about a certificate that no authority of this process signed. */
const UNKNOWN_AUTHORITY =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER_CERT(_LOCALLY)?|VERIFY_LEAF_SIGNATURE))$/;
const isOfUnknownAuthority = (error: unknown): boolean => UNKNOWN_AUTHORITY.test(codeOf(error));

/** Whether there was no connection, so that the service has no byte of the request. */
export const isUnsent = (error: unknown): boolean =>
  isOfUnknownAuthority(error) ||
  /^(CERT_|ERR_TLS_CERT|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|E(HOST|NET)UNREACH|UND_ERR_CONNECT_TIMEOUT)/.test(codeOf(error));

/** What to do about a failure that another attempt does not change; null for others. @param address what names the host */
export function remedyOf(error: unknown, address: string): string | null {
  if (codeOf(error) === 'ENOTFOUND') return `Check ${address}. If only a proxy knows the host, set HTTPS_PROXY (HTTP_PROXY for http).`;
  if (isOfUnknownAuthority(error)) return 'Set NODE_EXTRA_CA_CERTS to a file with the certificate of the authority, as PEM.';
  return /^(CERT_|ERR_TLS_CERT)/.test(codeOf(error)) ? `Check ${address}, and the certificate of the host.` : null;
}

let trustsSystem = false;

/** Trusts the authorities of the system, too. Node.js before 24.5 cannot. */
function trustSystem(): void {
  const { setDefaultCACertificates: set, getCACertificates: read } = tls as Partial<typeof tls>;
  if (!trustsSystem) set?.([...read!('default'), ...read!('system')]);
  trustsSystem = true;
}

/**
 * As `fetch`. If no authority of this process signed the certificate, those of the system are asked: reading them takes a third of a
 * second, which other commands need not wait for.
 */
export async function fetchTrusting(address: string, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init);
  } catch (error) {
    if (!isOfUnknownAuthority(error)) throw error;
    trustSystem();
    return fetch(address, init);
  }
}
