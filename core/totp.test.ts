import { expect } from 'chai';
import fc from 'fast-check';
import { matchTotp, toBase32, totpAddress, totpCode, totpStep } from './totp.ts';

/** The secret and the table of RFC 6238, appendix B, for SHA-1. */
const SECRET = Buffer.from('12345678901234567890');
const VECTORS: [seconds: number, code: string][] = [
  [59, '94287082'],
  [1111111109, '07081804'],
  [1111111111, '14050471'],
  [1234567890, '89005924'],
  [2000000000, '69279037'],
  [20000000000, '65353130'],
];

const secrets = fc.uint8Array({ minLength: 20, maxLength: 20 });
const times = fc.integer({ min: 1000, max: 4_000_000_000 }).map((seconds) => new Date(seconds * 1000));

describe('time-based codes', () => {
  for (const [seconds, code] of VECTORS)
    it(`are those of RFC 6238 at ${seconds} s`, () => {
      expect(totpCode(SECRET, totpStep(new Date(seconds * 1000)), 8)).to.equal(code);
      expect(totpCode(SECRET, totpStep(new Date(seconds * 1000)))).to.equal(code.slice(2));
    });

  it('are accepted in their step and the one before and after it, and in no other (ASVS 6.5.5)', () => {
    fc.assert(
      fc.property(secrets, times, fc.integer({ min: -4, max: 4 }), (secret, at, distance) => {
        const step = totpStep(at) + distance;
        const match = matchTotp({ secret, code: totpCode(secret, step), lastStep: -1, at });
        // Two steps may have the same code by chance.
        if (Math.abs(distance) <= 1) expect(match.ok).to.equal(true);
        else if (match.ok) expect(totpCode(secret, match.step)).to.equal(totpCode(secret, step));
      }),
    );
  });

  it('are never accepted for a step up to the last one that was used (ASVS 6.5.1)', () => {
    fc.assert(
      fc.property(secrets, times, fc.integer({ min: -1, max: 1 }), fc.integer({ min: -3, max: 3 }), (secret, at, distance, last) => {
        const [step, lastStep] = [totpStep(at) + distance, totpStep(at) + last];
        const match = matchTotp({ secret, code: totpCode(secret, step), lastStep, at });
        if (match.ok) expect(match.step).to.be.greaterThan(lastStep);
        else expect([step <= lastStep, match.reason]).to.deep.equal([true, 'used']);
      }),
    );
  });

  it('may contain spaces, and are wrong if they have another length or other characters', () => {
    const at = new Date(59_000);
    const match = (code: string) => matchTotp({ secret: SECRET, code, lastStep: -1, at });
    expect(match(' 287 082 ')).to.deep.equal({ ok: true, step: 1 });
    for (const code of ['', '28708', '2870820', '287o82', '٢٨٧٠٨٢', '000000'])
      expect(match(code)).to.deep.equal({ ok: false, reason: 'wrong' });
  });
});

describe('toBase32', () => {
  // RFC 4648, section 10, without padding.
  for (const [text, encoded] of Object.entries({
    '': '',
    f: 'MY',
    fo: 'MZXQ',
    foo: 'MZXW6',
    foob: 'MZXW6YQ',
    fooba: 'MZXW6YTB',
    foobar: 'MZXW6YTBOI',
  }))
    it(`encodes "${text}"`, () => expect(toBase32(Buffer.from(text))).to.equal(encoded));
});

describe('totpAddress', () => {
  it('escapes the account', () =>
    expect(totpAddress({ issuer: 'Curbcut', account: 'a&secret=x@example.com', secret: Buffer.from('foobar') })).to.equal(
      'otpauth://totp/Curbcut:a%26secret%3Dx%40example.com?secret=MZXW6YTBOI&issuer=Curbcut&algorithm=SHA1&digits=6&period=30',
    ));
});
