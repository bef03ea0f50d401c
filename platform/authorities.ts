/**
 * Certificate authorities that an installation trusts in addition to those of Node.js. Every TLS client of the process uses them:
 * MongoDB's driver, NATS, the SDK of S3, nodemailer and `fetch` leave the choice to Node.js.
 */
import { X509Certificate } from 'node:crypto';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { errorMessage } from './errors.ts';

/** The operator passes bundles to scanner pods in Secrets, which hold 1 MiB. */
const BUNDLE_MAX_BYTES = 128 * 1024;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of a PEM bundle, which may hold other text between them. */
export const certificatesIn = (bundle: string): string[] => bundle.match(CERTIFICATE) ?? [];

/** Returns a sentence for each mistake in a bundle. @param name of the setting */
export function bundleMistakes(name: string, bundle: string): string[] {
  const must = 'it must be certificates of authorities in PEM format';
  if (bundle.length > BUNDLE_MAX_BYTES)
    return [`${name} has ${bundle.length} bytes, at most ${BUNDLE_MAX_BYTES} are allowed; leave out the public authorities.`];
  if (bundle.includes('PRIVATE KEY-----')) return [`${name} holds a private key; ${must}.`];
  const certificates = certificatesIn(bundle);
  if (certificates.length === 0) return [`${name} holds no certificate; ${must}.`];
  return certificates.flatMap((certificate, at) => {
    try {
      new X509Certificate(certificate);
      return [];
    } catch (error) {
      return [`${name}: certificate ${at + 1} of ${certificates.length} is malformed (${errorMessage(error)}); ${must}.`];
    }
  });
}

let ofNode: string[] | undefined;

/** The authorities of Node.js, without those of `trustAuthorities`. */
const publicAuthorities = (): string[] => (ofNode ??= getCACertificates('default'));

/**
 * The authorities for connections to scanned sites: the public ones and those of a bundle, but not those of `trustAuthorities`.
 * @returns undefined if these are the ones that Node.js uses anyway
 */
export const siteAuthorities = (bundle: string | undefined): string[] | undefined =>
  bundle === undefined && !isExtended ? undefined : [...publicAuthorities(), ...certificatesIn(bundle ?? '')];

let isExtended = false;

/** Trusts the authorities of a bundle from now on, and no longer those of an earlier call. */
export function trustAuthorities(bundle: string): void {
  isExtended = true;
  setDefaultCACertificates([...publicAuthorities(), ...certificatesIn(bundle)]);
}

/** OpenSSL's messages if the chain of a certificate does not end at a trusted authority. Not the codes: nodemailer replaces them. */
const UNKNOWN_AUTHORITY = /self-signed certificate|unable to get (local )?issuer certificate|unable to verify the first certificate/;

/** Returns what to do about an error, or about one of its causes, if a certificate is of an unknown authority; else undefined. */
export function authorityHint(error: unknown, depth = 5): string | undefined {
  if (typeof error !== 'object' || error === null || depth === 0) return undefined;
  const { message, cause, errors, reason } = error as Partial<AggregateError> & { reason?: { servers?: unknown } };
  if (UNKNOWN_AUTHORITY.test(message ?? ''))
    return 'The certificate of the server is not signed by an authority that this process trusts. Add the authority to PRIVATE_CA (privateCA in the chart).';
  // MongoDB's driver keeps the errors of each server in its view of the cluster.
  const servers =
    reason?.servers instanceof Map ? [...(reason.servers as Map<string, { error?: unknown }>).values()].map((one) => one.error) : [];
  for (const inner of [cause, ...(Array.isArray(errors) ? (errors as unknown[]) : []), ...servers]) {
    const hint = authorityHint(inner, depth - 1);
    if (hint !== undefined) return hint;
  }
  return undefined;
}
