/**
 * NKeys of NATS users, made with the Ed25519 of Node.js: an NKey is base32 of a type prefix, the raw key and a CRC-16.
 * `@nats-io/nkeys` does the same in JavaScript (tweetnacl), which blocks the event loop for 7 to 27 ms per credential.
 */
import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';

const SEED_PREFIX = 18 << 3;
const USER_PREFIX = 20 << 3;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** The DER of a PKCS #8 Ed25519 private key up to its 32 raw bytes (RFC 8410). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Creates the key of a user. @returns its public key (`U…`) and its seed (`SU…`) */
export function createUserKey(): { publicKey: string; seed: string } {
  const { x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return { publicKey: encode([USER_PREFIX], x!), seed: encode([SEED_PREFIX | (USER_PREFIX >> 5), (USER_PREFIX & 31) << 3], d!) };
}

/** Returns a function that signs with the Ed25519 key of 32 raw bytes. */
export function createSigner(rawSeed: Uint8Array): (data: Uint8Array) => Uint8Array {
  const key: KeyObject = createPrivateKey({ key: Buffer.concat([PKCS8, rawSeed]), format: 'der', type: 'pkcs8' });
  return (data) => sign(null, data, key);
}

/** @param key base64url */
function encode(prefix: readonly number[], key: string): string {
  const payload = Buffer.concat([Buffer.from(prefix), Buffer.from(key, 'base64url')]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc16(payload));
  return base32(Buffer.concat([payload, checksum]));
}

/** CRC-16/XMODEM. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc;
}

/** Base32 without padding (RFC 4648). */
function base32(bytes: Uint8Array): string {
  let text = '';
  let value = 0;
  let bits = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(value >> (bits - 5)) & 31];
  }
  return bits > 0 ? text + ALPHABET[(value << (5 - bits)) & 31] : text;
}
