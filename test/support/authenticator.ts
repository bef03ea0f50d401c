/** A passkey authenticator in software, for tests without a browser: makes ES256 credentials, and signs what it is told to. */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();
const base64url = (data: Buffer): string => data.toString('base64url');

/** CBOR of the few forms that are needed. */
function cbor(value: unknown): Buffer {
  const head = (major: number, length: number): Buffer =>
    length < 24
      ? Buffer.from([(major << 5) | length])
      : length < 256
        ? Buffer.from([(major << 5) | 24, length])
        : Buffer.from([(major << 5) | 25, length >> 8, length & 0xff]);
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Map)
    return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, one]: [unknown, unknown]) => [cbor(key), cbor(one)])]);
  throw new TypeError('no such form');
}

/** What an answer says. */
export interface Claims {
  origin: string;
  rpId: string;
  /** Whether the user was verified. Default: true. */
  verified?: boolean;
  /** Default: one more than before. */
  counter?: number;
  /** Default: that of the request. */
  challenge?: string;
  /** Default: that of the account. */
  userHandle?: string;
}

export interface Authenticator {
  id: string;
  /** Answers the options of a page that makes a passkey. */
  create(options: string, claims: Claims): string;
  /** Answers the options of a page that uses a passkey. */
  get(options: string, claims: Claims): string;
}

/** @param options.counts whether it counts its uses. Passkeys that are synchronised between devices do not. */
export function createAuthenticator({ counts = true } = {}): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(16);
  let [counter, handle] = [0, ''];

  function data({ rpId, verified = true, counter: forced }: Claims, flags: number, more = Buffer.alloc(0)): Buffer {
    counter = forced ?? (counts ? counter + 1 : 0);
    const fixed = Buffer.alloc(5);
    fixed.writeUInt8(flags | (verified ? 0x05 : 0x01));
    fixed.writeUInt32BE(counter, 1);
    return Buffer.concat([sha256(rpId), fixed, more]);
  }
  const client = (type: string, challenge: string, { origin, challenge: forced }: Claims): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge: forced ?? challenge, origin, crossOrigin: false }));
  const answer = (response: object): string =>
    JSON.stringify({ id: base64url(id), rawId: base64url(id), type: 'public-key', clientExtensionResults: {}, response });

  return {
    id: base64url(id),

    create(text, claims) {
      const { challenge, user } = JSON.parse(text) as { challenge: string; user: { id: string } };
      handle = user.id;
      const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, coseOf(publicKey)]);
      const authData = data(claims, 0x40, credential);
      return answer({
        clientDataJSON: base64url(client('webauthn.create', challenge, claims)),
        attestationObject: base64url(
          cbor(
            new Map<string, unknown>([
              ['fmt', 'none'],
              ['attStmt', new Map()],
              ['authData', authData],
            ]),
          ),
        ),
        transports: ['internal'],
      });
    },

    get(text, claims) {
      const { challenge } = JSON.parse(text) as { challenge: string };
      const [authData, clientData] = [data(claims, 0), client('webauthn.get', challenge, claims)];
      return answer({
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authData),
        signature: base64url(sign('sha256', Buffer.concat([authData, sha256(clientData)]), privateKey)),
        userHandle: claims.userHandle ?? handle,
      });
    },
  };
}

function coseOf(key: KeyObject): Buffer {
  const { x, y } = key.export({ format: 'jwk' });
  return cbor(
    new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x!, 'base64url')],
      [-3, Buffer.from(y!, 'base64url')],
    ]),
  );
}
