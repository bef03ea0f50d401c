/**
 * Verifies AWS Signature Version 4, in the Authorization header and in presigned queries. Pure.
 * Rules: "Authenticating Requests (AWS Signature Version 4)" of the Amazon S3 API reference.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { S3Error } from './errors.ts';

export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** Of a session, whose requests must contain it. */
  sessionToken?: string;
}

/** A request as it was received. */
export interface SignedRequest {
  method: string;
  /** Path and query, not decoded. */
  target: string;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The signed hash of the body: a SHA-256 in hexadecimal, or a constant such as `UNSIGNED-PAYLOAD`. */
export type PayloadHash = string;

const ALGORITHM = 'AWS4-HMAC-SHA256';
const SKEW_MS = 15 * 60_000;
const MAX_EXPIRY_SECONDS = 7 * 24 * 3600;
const UNSIGNED = 'UNSIGNED-PAYLOAD';

interface Claim {
  accessKeyId: string;
  /** `date/region/service/aws4_request`. */
  scope: string[];
  timestamp: string;
  signedHeaders: string[];
  signature: string;
  payloadHash: PayloadHash;
  /** The signed pairs of the query. */
  query: [string, string][];
}

/** Decodes a path or a part of a query. @throws S3Error if it is not percent-encoded UTF-8 */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Error('InvalidURI', `${text} is not percent-encoded UTF-8.`);
  }
}

/** The decoded pairs of a target's query, in their order. */
export function queryOf(target: string): [string, string][] {
  const start = target.indexOf('?');
  if (start === -1 || start === target.length - 1) return [];
  return target
    .slice(start + 1)
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const equals = pair.indexOf('=');
      const [name, value] = equals === -1 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
      return [decodePercent(name.replaceAll('+', ' ')), decodePercent(value.replaceAll('+', ' '))];
    });
}

/**
 * Verifies a request's signature, freshness and scope.
 * @returns the signed hash of the body; the caller must verify the body with it
 * @param credentialsOf returns the credentials of an access key, or undefined if there are none (any more)
 * @throws S3Error if the request is not signed with these credentials
 */
export function verify(request: SignedRequest, credentialsOf: (accessKeyId: string) => Credentials | undefined, now: Date): PayloadHash {
  const query = queryOf(request.target);
  const authorization = header(request, 'authorization');
  const presigned = query.some(([name]) => name === 'X-Amz-Algorithm' || name === 'X-Amz-Signature');
  if (authorization !== null && presigned)
    throw new S3Error('InvalidArgument', 'Only one auth mechanism allowed; send either the Authorization header or a presigned query.');
  if (authorization === null && !presigned) throw new S3Error('AccessDenied', 'The request is not signed.');

  const claim = presigned ? presignedClaim(request, query, now) : headerClaim(request, query, authorization!, now);
  requireSignedHeaders(request, claim);
  const credentials = credentialsOf(claim.accessKeyId);
  if (credentials === undefined)
    throw new S3Error('InvalidAccessKeyId', 'The AWS Access Key Id you provided does not exist in our records.', {
      AWSAccessKeyId: claim.accessKeyId,
    });

  const token = query.find(([name]) => name === 'X-Amz-Security-Token')?.[1] ?? header(request, 'x-amz-security-token');
  if (credentials.sessionToken !== undefined && token !== credentials.sessionToken)
    throw new S3Error('InvalidToken', 'The provided token is malformed or otherwise invalid.');

  const expected = sign(credentials.secretAccessKey, claim.scope, stringToSign(claim, canonicalRequest(request, claim)));
  if (!/^[0-9a-f]{64}$/.test(claim.signature) || !timingSafeEqual(expected, Buffer.from(claim.signature, 'hex')))
    throw new S3Error(
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
    );
  return claim.payloadHash;
}

function header(request: SignedRequest, name: string): string | null {
  const value = request.headers[name];
  return value === undefined ? null : Array.isArray(value) ? value.join(',') : value;
}

function headerClaim(request: SignedRequest, query: [string, string][], authorization: string, now: Date): Claim {
  const malformed = (why: string): S3Error => new S3Error('AuthorizationHeaderMalformed', `The authorization header is malformed; ${why}.`);
  if (!authorization.startsWith(`${ALGORITHM} `)) throw malformed(`only ${ALGORITHM} is supported`);
  const parts = new Map<string, string>();
  for (const part of authorization.slice(ALGORITHM.length + 1).split(',')) {
    const [name = '', ...value] = part.trim().split('=');
    if (parts.has(name)) throw malformed(`${name} is given twice`);
    parts.set(name, value.join('='));
  }
  const [credential, signedHeaders, signature] = ['Credential', 'SignedHeaders', 'Signature'].map((name) => parts.get(name));
  if (!credential || !signedHeaders || !signature) throw malformed('Credential, SignedHeaders and Signature are required');
  const timestamp = header(request, 'x-amz-date');
  const at = instant(timestamp);
  if (timestamp === null || at === null)
    throw new S3Error('AccessDenied', 'A request that is signed in its headers needs a valid x-amz-date.');
  if (Math.abs(now.getTime() - at) > SKEW_MS)
    throw new S3Error('RequestTimeTooSkewed', 'The difference between the request time and the current time is too large.', {
      RequestTime: timestamp,
      ServerTime: now.toISOString(),
      MaxAllowedSkewMilliseconds: String(SKEW_MS),
    });
  const payloadHash = header(request, 'x-amz-content-sha256');
  if (payloadHash === null) throw new S3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256');
  return {
    ...scopeOf(credential, timestamp, malformed),
    timestamp,
    signedHeaders: signedHeaders.split(';'),
    signature,
    payloadHash,
    query,
  };
}

function presignedClaim(request: SignedRequest, query: [string, string][], now: Date): Claim {
  const wrong = (why: string): S3Error => new S3Error('AuthorizationQueryParametersError', `${why}.`);
  const one = (name: string): string => {
    const values = query.filter(([given]) => given === name);
    if (values.length !== 1 || values[0]![1] === '') throw wrong(`Query-string authentication requires ${name} exactly once`);
    return values[0]![1];
  };
  if (one('X-Amz-Algorithm') !== ALGORITHM) throw wrong(`X-Amz-Algorithm only supports "${ALGORITHM}"`);
  const [credential, timestamp, signedHeaders, signature] = [
    'X-Amz-Credential',
    'X-Amz-Date',
    'X-Amz-SignedHeaders',
    'X-Amz-Signature',
  ].map(one) as [string, string, string, string];
  const expires = one('X-Amz-Expires');
  if (!/^\d{1,6}$/.test(expires) || Number(expires) < 1 || Number(expires) > MAX_EXPIRY_SECONDS)
    throw wrong(`X-Amz-Expires must be a number of seconds from 1 to ${MAX_EXPIRY_SECONDS}`);
  const at = instant(timestamp);
  if (at === null) throw wrong("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"");
  if (at - now.getTime() > SKEW_MS) throw new S3Error('AccessDenied', 'Request is not yet valid', { ServerTime: now.toISOString() });
  const end = at + Number(expires) * 1000;
  if (now.getTime() > end)
    throw new S3Error('AccessDenied', 'Request has expired', {
      'X-Amz-Expires': expires,
      Expires: new Date(end).toISOString(),
      ServerTime: now.toISOString(),
    });
  const payloadHash = query.find(([name]) => name === 'X-Amz-Content-Sha256')?.[1] ?? header(request, 'x-amz-content-sha256') ?? UNSIGNED;
  return {
    ...scopeOf(credential, timestamp, wrong),
    timestamp,
    signedHeaders: signedHeaders.split(';'),
    signature,
    payloadHash,
    query: query.filter(([name]) => name !== 'X-Amz-Signature'),
  };
}

function scopeOf(credential: string, timestamp: string, wrong: (why: string) => S3Error): Pick<Claim, 'accessKeyId' | 'scope'> {
  const parts = credential.split('/');
  const scope = parts.slice(-4);
  const [date, region, service, terminator] = scope;
  if (parts.length < 5 || service !== 's3' || terminator !== 'aws4_request' || region === '')
    throw wrong('the Credential must be <key>/<date>/<region>/s3/aws4_request');
  if (date !== timestamp.slice(0, 8)) throw wrong(`the Credential's date ${date} is not the date of the request`);
  return { accessKeyId: parts.slice(0, -4).join('/'), scope };
}

function instant(timestamp: string | null): number | null {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(timestamp ?? '');
  if (match === null) return null;
  const [, year, month, day, hours, minutes, seconds] = match;
  const at = Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
  return Number.isNaN(at) ? null : at;
}

/** The host and every `x-amz-` header must be signed. */
function requireSignedHeaders(request: SignedRequest, { signedHeaders }: Claim): void {
  const signed = new Set(signedHeaders);
  const missing = ['host', ...Object.keys(request.headers).filter((name) => name.startsWith('x-amz-'))].filter((name) => !signed.has(name));
  if (missing.length > 0)
    throw new S3Error('AccessDenied', 'There were headers present in the request which were not signed', {
      HeadersNotSigned: missing.join(', '),
    });
}

function canonicalRequest(request: SignedRequest, claim: Claim): string {
  const path = request.target.split('?', 1)[0]!;
  const canonicalPath = path
    .split('/')
    .map((segment) => encode(decodePercent(segment)))
    .join('/');
  const query = claim.query
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : x > y ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const headers = claim.signedHeaders.map((name) => `${name}:${(header(request, name) ?? '').trim().replace(/\s+/g, ' ')}\n`).join('');
  return [request.method, canonicalPath, query, headers, claim.signedHeaders.join(';'), claim.payloadHash].join('\n');
}

/** Percent-encoding for the signature: everything except letters, digits and `-._~`. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function stringToSign(claim: Claim, canonical: string): string {
  return [ALGORITHM, claim.timestamp, claim.scope.join('/'), createHash('sha256').update(canonical).digest('hex')].join('\n');
}

function sign(secret: string, scope: readonly string[], text: string): Buffer {
  const key = scope.reduce<Buffer>((previous, part) => createHmac('sha256', previous).update(part).digest(), Buffer.from(`AWS4${secret}`));
  return createHmac('sha256', key).update(text).digest();
}
