import { expect } from 'chai';
import { hashPassword, matchesPassword, UNMATCHABLE } from './passwords.ts';

describe('passwords', () => {
  it('matches only the password that was hashed', async () => {
    const hash = await hashPassword('correct horse');
    expect(await matchesPassword('correct horse', hash)).to.equal(true);
    expect(await matchesPassword('correct horsf', hash)).to.equal(false);
    expect(await matchesPassword('', hash)).to.equal(false);
  });

  it('salts, and treats composed and decomposed characters as equal', async () => {
    expect(await hashPassword('Blåbær-pai')).to.not.equal(await hashPassword('Blåbær-pai'));
    expect(await matchesPassword('Blåbær-pai'.normalize('NFD'), await hashPassword('Blåbær-pai'.normalize('NFC')))).to.equal(true);
  });

  it('has a hash that no password matches, with the cost of other hashes outside of tests', async () => {
    expect(UNMATCHABLE).to.match(/^scrypt\$32768\$8\$3\$/);
    expect(await matchesPassword(UNMATCHABLE, UNMATCHABLE)).to.equal(false);
  });

  it('reads the parameters of an older hash', async () => {
    // RFC 7914, section 12: password "pleaseletmein", salt "SodiumChloride", N 16384, r 8, p 1.
    const digest =
      '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887';
    const stored = [
      'scrypt',
      16384,
      8,
      1,
      Buffer.from('SodiumChloride').toString('base64'),
      Buffer.from(digest, 'hex').toString('base64'),
    ].join('$');
    expect(await matchesPassword('pleaseletmein', stored)).to.equal(true);
  });

  it('rejects passwords that are too long, and does not hash a megabyte', async () => {
    expect(await hashPassword('x'.repeat(1025)).catch((reason: unknown) => reason)).to.be.instanceOf(RangeError);
    expect(await matchesPassword('x'.repeat(1_000_000), await hashPassword('12345678'))).to.equal(false);
  });
});
