import { expect } from 'chai';
import { isSecretRule, maySignInWith, mayUseSecrets } from './sign-in.ts';

describe('Secrets of scans over HTTP', () => {
  it('are allowed by name or by the beginning of their names, for all organisations or for one', () => {
    const rules = ['shop-login', 'staging-*', 'acme/acme-*', 'globex/own'];
    for (const [secret, organisation, allowed] of [
      ['shop-login', 'any', true],
      ['shop-login-2', 'any', false],
      ['staging-1', 'any', true],
      ['staging', 'any', false],
      ['acme-shop', 'acme', true],
      ['acme-shop', 'globex', false],
      ['own', 'globex', true],
      ['own', 'acme', false],
    ] as const)
      expect(maySignInWith(secret, organisation, rules), `${secret} of ${organisation}`).to.equal(allowed);
    expect(maySignInWith('shop-login', 'any', [])).to.equal(false);
    expect([mayUseSecrets('any', ['acme/own']), mayUseSecrets('acme', ['acme/own']), mayUseSecrets('any', rules)]).to.deep.equal([
      false,
      true,
      true,
    ]);
  });

  it('are never all of them', () => {
    for (const item of ['a', 'a-*', 'acme/a', 'acme/a.b*']) expect(isSecretRule(item), item).to.equal(true);
    for (const item of ['', '*', 'acme/*', 'acme/', '/a', 'A', 'a b', 'a*b', 'a/b/c']) expect(isSecretRule(item), item).to.equal(false);
  });
});
