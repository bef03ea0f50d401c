import { expect } from 'chai';
import { isSignInPage, type SignInForm } from './page-checks.ts';

const FORM: SignInForm = { passwords: 1, newPassword: false, fields: 2, textOutside: 40, label: 'Acme | Sign in' };
/** A page with content and a form in its sidebar. */
const BESIDE: SignInForm = { ...FORM, textOutside: 2000 };
const EMAIL_FIRST: SignInForm = { ...FORM, passwords: 0, fields: 1 };

describe('sign-in page check', () => {
  const cases: [requested: string, displayed: string, form: SignInForm | null, is: boolean][] = [
    ['/members', '/login', FORM, true],
    ['/members', '/users/sign_in', BESIDE, true],
    ['/members', '/x?returnUrl=%2Fmembers', FORM, true],
    ['/members', '/welcome?next=/members', BESIDE, true],
    ['/', '/account/login?return=/', FORM, true],
    ['/members', '/login?next=/members', EMAIL_FIRST, true],
    ['/members', 'https://sso.a.test/oauth2/authorize?client_id=x&redirect_uri=y', null, true],
    ['/members', 'https://idp.a.test/saml2/sso?SAMLRequest=fZ', null, true],
    ['/members', 'https://idp.a.test/adfs/ls/?wa=wsignin1.0&wtrealm=urn:a', null, true],
    ['/members', 'https://idp.a.test/cas/login?service=https%3A%2F%2Fa.test%2Fmembers', null, true],
    ['/members', '/auth', FORM, true],
    // Shown at the address itself, with status 200.
    ['/members', '/members', FORM, true],
    ['/members', '/members', { ...FORM, label: 'Anmelden' }, true],
    ['/members', '/members', { ...FORM, label: 'ログイン' }, true],
    // Castilian, an account and a manual.
    ['/', '/cas/', null, false],
    ['/', '/cas/', BESIDE, false],
    ['/konto', '/konto/privat', null, false],
    ['/account', '/konto/', BESIDE, false],
    ['/docs/security', '/docs/auth/', null, false],
    ['/docs/login-help', '/docs/auth/', BESIDE, false],
    ['/guide', '/session', null, false],
    // Requested by its own URL.
    ['/login', '/login/', FORM, false],
    ['/login', '/en/login?next=/', FORM, false],
    ['/', '/', FORM, false],
    ['/', '/en/', FORM, false],
    // No sign-in, or not only a sign-in.
    ['/', '/en/', null, false],
    ['/', '/en/', BESIDE, false],
    ['/', '/blog/login-tips', null, false],
    ['/authors', '/en/authors', null, false],
    ['/search', '/results?from=2', BESIDE, false],
    ['/members', '/members', BESIDE, false],
    ['/members', '/members', { ...FORM, passwords: 2 }, false],
    ['/members', '/members', { ...FORM, newPassword: true }, false],
    ['/members', '/members', { ...FORM, fields: 9 }, false],
    ['/wifi', '/wifi', { ...FORM, label: 'Decrypt a message' }, false],
    ['/newsletter', '/newsletter', EMAIL_FIRST, false],
  ];
  for (const [requested, displayed, form, is] of cases)
    it(`${is ? 'recognises' : 'does not report'} ${displayed} with ${JSON.stringify(form)} after a request for ${requested}`, () =>
      expect(
        isSignInPage(new URL(requested, 'https://a.test'), { url: new URL(displayed, 'https://a.test'), form, signedIn: false }),
      ).to.equal(is));

  it('recognises a sign-in form at the root of a site only if the scan is signed in', () => {
    const root = new URL('https://a.test/');
    expect(isSignInPage(root, { url: root, form: FORM, signedIn: true })).to.equal(true);
    expect(isSignInPage(root, { url: root, form: FORM, signedIn: false })).to.equal(false);
  });
});
