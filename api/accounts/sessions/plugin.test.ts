import { expect } from 'chai';
import { cookieRules } from './plugin.ts';

describe('cookieRules', () => {
  const local = ['http://localhost:8080', 'http://127.8.8.8', 'http://[::1]:8080'];
  for (const address of local)
    it(`permits cookies without Secure and without a prefix at ${address}`, () => {
      const rules = cookieRules(address);
      expect([rules.session, rules.form, rules.oidc, rules.pending]).to.deep.equal([
        'curbcut_session',
        'curbcut_form',
        'curbcut_oidc_',
        'curbcut_pending',
      ]);
      expect(rules.usable).to.equal(true);
      expect(rules.options).to.deep.equal({ path: '/', httpOnly: true, sameSite: 'lax', secure: false });
    });

  const elsewhere: [address: string, usable: boolean][] = [
    ['https://curbcut.example', true],
    ['http://curbcut.example', false],
    ['http://localhost.example', false],
  ];
  for (const [address, usable] of elsewhere)
    it(`requires Secure and the prefix of one host at ${address}, which browsers ${usable ? 'keep' : 'do not keep'}`, () => {
      const rules = cookieRules(address);
      expect([rules.session, rules.form, rules.oidc, rules.pending]).to.deep.equal([
        '__Host-curbcut_session',
        '__Host-curbcut_form',
        '__Host-curbcut_oidc_',
        '__Host-curbcut_pending',
      ]);
      expect(rules.usable).to.equal(usable);
      // Browsers reject the prefix without Secure, without the path `/`, or with a Domain.
      expect(rules.options).to.deep.equal({ path: '/', httpOnly: true, sameSite: 'lax', secure: true });
    });
});
