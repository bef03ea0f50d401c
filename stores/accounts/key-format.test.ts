import { expect } from 'chai';
import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { hashOf, isWellFormed, KEY_PATTERN, makeKey } from './key-format.ts';

describe('API key format', () => {
  it('generates unique, well-formed keys', () => {
    const keys = Array.from({ length: 200 }, () => makeKey(randomBytes));
    for (const key of keys) {
      expect(key).to.match(KEY_PATTERN);
      expect(isWellFormed(key), key).to.equal(true);
    }
    expect(new Set(keys).size).to.equal(200);
  });

  it('still accepts keys that were issued earlier', () => {
    // 32 zero bytes become 32 times `0`, whose CRC-32 according to zlib is 2,700,251,856.
    expect(makeKey((count) => new Uint8Array(count))).to.equal(`svc_live_${'0'.repeat(32)}2wjyrI`);
    expect(isWellFormed(`svc_live_${'0'.repeat(32)}2wjyrI`)).to.equal(true);
  });

  it('names test keys by their prefix', () => {
    const key = makeKey(randomBytes, { test: true });
    expect(key).to.match(/^svc_test_[0-9A-Za-z]{38}$/);
    expect(isWellFormed(key)).to.equal(true);
  });

  it('rejects every key with one wrong character', () => {
    const alphabet = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];
    fc.assert(
      fc.property(fc.integer({ min: 9, max: 46 }), fc.constantFrom(...alphabet), (place, character) => {
        const key = makeKey(randomBytes);
        fc.pre(key[place] !== character);
        return !isWellFormed(key.slice(0, place) + character + key.slice(place + 1));
      }),
    );
  });

  it('rejects another prefix, length or alphabet', () => {
    const key = makeKey(randomBytes);
    for (const wrong of [
      '',
      key.slice(9),
      key.slice(0, -1),
      `${key}0`,
      `SVC_LIVE_${key.slice(9)}`,
      `${key}\n`,
      ` ${key}`,
      key.replace('live', 'prod'),
    ])
      expect(isWellFormed(wrong), JSON.stringify(wrong)).to.equal(false);
  });

  it('skips bytes of 248 and above, so that all characters are equally likely', () => {
    let calls = 0;
    const key = makeKey((count) => new Uint8Array(count).fill((calls += 1) === 1 ? 255 : 61));
    expect(key.slice(9, 41)).to.equal('z'.repeat(32));
  });

  it('hashes to SHA-256 in lower-case hexadecimal', () => {
    expect(hashOf('abc')).to.equal('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
