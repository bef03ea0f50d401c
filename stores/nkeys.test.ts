import { expect } from 'chai';
import { createAccount, fromPublic, fromSeed } from '@nats-io/nkeys';
import { createSigner, createUserKey } from './nats-connection.ts';

describe('NKeys', () => {
  it('of users are read by the NATS library, which derives the same public key', () => {
    for (let round = 0; round < 20; round += 1) {
      const { publicKey, seed } = createUserKey();
      const read = fromSeed(Buffer.from(seed));
      expect(read.getPublicKey()).to.equal(publicKey);
      expect(Buffer.from(read.getSeed()).toString()).to.equal(seed);
      expect(publicKey).to.match(/^U[A-Z2-7]{55}$/);
      expect(seed).to.match(/^SU[A-Z2-7]{56}$/);
      fromPublic(publicKey);
    }
  });

  it('sign the same bytes as the NATS library', () => {
    const account = createAccount() as ReturnType<typeof createAccount> & { getRawSeed(): Uint8Array };
    const sign = createSigner(account.getRawSeed());
    for (const text of ['', 'a', 'x'.repeat(5000)]) {
      const data = Buffer.from(text);
      expect(Buffer.from(sign(data)).equals(Buffer.from(account.sign(data)))).to.equal(true);
      expect(account.verify(data, sign(data))).to.equal(true);
    }
  });
});
