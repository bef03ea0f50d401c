/** The credentials of clients: certificate, token, and the kubeconfig with both. */
import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isIP } from 'node:net';

/**
 * Creates a self-signed TLS certificate for the API server on loopback. kubectl sends bearer tokens only over TLS. Encodes
 * DER itself, because Node.js cannot create certificates and openssl may not be installed.
 */
const LIFETIME_MS = 10 * 365 * 24 * 3600 * 1000;

function element(tag: number, ...contents: Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  const length =
    body.length < 0x80
      ? Buffer.from([body.length])
      : body.length < 0x100
        ? Buffer.from([0x81, body.length])
        : Buffer.from([0x82, body.length >> 8, body.length & 0xff]);
  return Buffer.concat([Buffer.from([tag]), length, body]);
}

function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return element(0x06, Buffer.from(bytes));
}

const sequence = (...contents: Uint8Array[]): Buffer => element(0x30, ...contents);
const bitString = (bytes: Uint8Array): Buffer => element(0x03, Buffer.from([0]), bytes);
const octetString = (bytes: Uint8Array): Buffer => element(0x04, bytes);
const TRUE = element(0x01, Buffer.from([0xff]));

function time(date: Date): Buffer {
  const text = date.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return element(0x18, Buffer.from(`${text}Z`, 'ascii'));
}

function utcTime(date: Date): Buffer {
  const text = date.toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return date.getUTCFullYear() < 2050 ? element(0x17, Buffer.from(`${text}Z`, 'ascii')) : time(date);
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = address.split('::');
  const words = (part: string): number[] => (part === '' ? [] : part.split(':').map((word) => parseInt(word, 16)));
  const front = words(head);
  const back = words(tail);
  const all = address.includes('::') ? [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back] : front;
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 0xff]));
}

/** A key and its certificate, as PEM. */
export interface KeyPair {
  key: string;
  certificate: string;
}

/**
 * Creates a P-256 key and a certificate that is valid for ten years.
 * @param hosts host names and addresses of the server
 * @param options.issuer the authority that signs it. Default: it is self-signed, and an authority itself
 * @param options.name the common name
 */
export function makeCertificate(
  hosts: readonly string[],
  now: Date,
  { issuer, name: commonName = 'curbcut-local' }: { issuer?: KeyPair; name?: string } = {},
): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'));
  const nameOf = (text: string): Buffer => sequence(element(0x31, sequence(objectIdentifier('2.5.4.3'), element(0x0c, Buffer.from(text)))));
  const issuerName = issuer === undefined ? commonName : new X509Certificate(issuer.certificate).subject.replace(/^CN=/, '');
  const extension = (id: string, critical: boolean, value: Uint8Array): Buffer =>
    sequence(objectIdentifier(id), ...(critical ? [TRUE] : []), octetString(value));
  const alternatives = sequence(
    ...hosts.map((host) => (isIP(host) === 0 ? element(0x82, Buffer.from(host, 'ascii')) : element(0x87, addressBytes(host)))),
  );
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const signed = sequence(
    element(0xa0, element(0x02, Buffer.from([2]))),
    element(0x02, serial),
    ecdsaWithSha256,
    nameOf(issuerName),
    sequence(utcTime(new Date(now.getTime() - 3600_000)), utcTime(new Date(now.getTime() + LIFETIME_MS))),
    nameOf(commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    element(
      0xa3,
      sequence(
        extension('2.5.29.19', true, sequence(...(issuer === undefined ? [TRUE] : []))),
        // digitalSignature, and keyCertSign for an authority.
        extension('2.5.29.15', true, element(0x03, Buffer.from(issuer === undefined ? [2, 0x84] : [7, 0x80]))),
        extension('2.5.29.37', false, sequence(objectIdentifier('1.3.6.1.5.5.7.3.1'))),
        // The list must not be empty.
        ...(hosts.length === 0 ? [] : [extension('2.5.29.17', false, alternatives)]),
      ),
    ),
  );
  const der = sequence(signed, ecdsaWithSha256, bitString(sign('sha256', signed, issuer?.key ?? privateKey)));
  return { key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })), certificate: new X509Certificate(der).toString() };
}

export interface Credentials {
  key: string;
  certificate: string;
  token: string;
}

/** Loads or creates credentials. If there is a folder, they are kept, so that a kubeconfig stays valid after a restart. */
export function loadCredentials(folder: string | undefined, hosts: readonly string[], now: Date): Credentials {
  const path = folder === undefined ? undefined : join(folder, 'credentials.json');
  if (path !== undefined && existsSync(path)) {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as Credentials & { hosts: string[] };
    if (hosts.every((host) => kept.hosts.includes(host))) return kept;
  }
  const made = { ...makeCertificate(hosts, now), token: randomBytes(24).toString('base64url') };
  if (path !== undefined) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, JSON.stringify({ ...made, hosts }), { mode: 0o600 });
  }
  return made;
}

/** A kubeconfig in JSON, which is also YAML. */
export function kubeconfigOf(url: string, { certificate, token }: Credentials, namespace: string): string {
  const name = 'curbcut-local';
  return `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server: url, 'certificate-authority-data': Buffer.from(certificate).toString('base64') } }],
      users: [{ name, user: { token } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace } }],
      'current-context': name,
    },
    null,
    2,
  )}\n`;
}
