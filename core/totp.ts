/** One-time codes that depend on the time (RFC 6238): six digits, SHA-1, 30 seconds, which every authenticator app supports. */
import { createHmac, timingSafeEqual } from 'node:crypto';

const STEP_SECONDS = 30;
const DIGITS = 6;
/** Codes of this many steps before and after the current one are accepted, because clocks differ and typing takes time. */
const SKEW_STEPS = 1;
/** The bytes of a secret: those of the hash, as RFC 4226 recommends. */
export const TOTP_SECRET_BYTES = 20;

export type TotpMatch = { ok: true; step: number } | { ok: false; reason: 'wrong' | 'used' };

export const totpStep = (at: Date): number => Math.floor(at.getTime() / 1000 / STEP_SECONDS);

/** Returns the code of a time step. */
export function totpCode(secret: Uint8Array, step: number, digits = DIGITS): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = mac.at(-1)! & 0xf;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits).padStart(digits, '0');
}

/**
 * Finds the time step of a code. A step up to `lastStep` is never accepted again, so that a code that someone else saw is
 * worthless once it was used.
 */
export function matchTotp({ secret, code, lastStep, at }: { secret: Uint8Array; code: string; lastStep: number; at: Date }): TotpMatch {
  const typed = Buffer.from(code.replace(/\s/g, ''));
  if (typed.length !== DIGITS) return { ok: false, reason: 'wrong' };
  const now = totpStep(at);
  // Every step is compared, so that the time does not depend on which one matches.
  const matching = Array.from({ length: 2 * SKEW_STEPS + 1 }, (_, index) => now - SKEW_STEPS + index).filter((step) =>
    timingSafeEqual(Buffer.from(totpCode(secret, step)), typed),
  );
  const step = matching.find((one) => one > lastStep);
  if (step !== undefined) return { ok: true, step };
  return { ok: false, reason: matching.length > 0 ? 'used' : 'wrong' };
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The secret as users type it: base32 (RFC 4648) without padding. */
export function toBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => BASE32[parseInt(five.padEnd(5, '0'), 2)]).join('');
}

/** The address that an authenticator app reads from a QR code. */
export function totpAddress({ issuer, account, secret }: { issuer: string; account: string; secret: Uint8Array }): string {
  const [name, user] = [encodeURIComponent(issuer), encodeURIComponent(account)];
  return `otpauth://totp/${name}:${user}?secret=${toBase32(secret)}&issuer=${name}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_SECONDS}`;
}
