import { expect } from 'chai';
import { decode, encodeUser, fmtCreds, type User } from '@nats-io/jwt';
import { createAccount, createUser, fromSeed } from '@nats-io/nkeys';
import { accountOf, createScanSigner } from './nats-connection.ts';

const seedOf = (pair: { getSeed(): Uint8Array }): string => Buffer.from(pair.getSeed()).toString();

describe('NATS credential of a scan', () => {
  it('is signed by the account and contains the permissions', () => {
    const account = createAccount();
    const { jwt, seed } = createScanSigner(seedOf(account))(
      { publish: ['progress.one'], payload: 4096 },
      new Date(1_900_000_000_400),
      null,
    );
    const claims = decode<User>(jwt);
    expect(claims.iss).to.equal(account.getPublicKey());
    expect(claims.sub).to.equal(fromSeed(Buffer.from(seed)).getPublicKey());
    expect(claims.exp).to.equal(1_900_000_001);
    expect(claims.nats).to.deep.include({
      type: 'user',
      version: 2,
      pub: { allow: ['progress.one'] },
      sub: { deny: ['>'] },
      payload: 4096,
    });
    expect(claims.nats).to.not.have.property('issuer_account');
  });

  it('names the account if one of its signing keys signs', () => {
    const [account, signingKey] = [createAccount(), createAccount()];
    const claims = decode<User>(
      createScanSigner(seedOf(signingKey))({ publish: ['progress.one'], payload: 4096 }, new Date(), account.getPublicKey()).jwt,
    );
    expect(claims.iss).to.equal(signingKey.getPublicKey());
    expect(claims.nats.issuer_account).to.equal(account.getPublicKey());
  });

  it('rejects a seed that does not belong to an account', () => {
    expect(() => createScanSigner(seedOf(createUser()))).to.throw(TypeError, 'account seed');
    expect(() => createScanSigner('SAnonsense')).to.throw();
  });

  it('finds the account in a credentials file', async () => {
    const [account, signingKey, user] = [createAccount(), createAccount(), createUser()];
    const own = fmtCreds(await encodeUser('u', user, account), user);
    const delegated = fmtCreds(await encodeUser('u', user, account, {}, { signer: signingKey }), user);
    expect(accountOf(own)).to.equal(account.getPublicKey());
    expect(accountOf(delegated)).to.equal(account.getPublicKey());
    expect(accountOf(Buffer.from('nothing'))).to.equal(null);
  });
});
