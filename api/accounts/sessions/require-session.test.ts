import { expect } from 'chai';
import fc from 'fast-check';
import { ownPath, signInPath } from './require-session.ts';

const HOME = '/dashboard';

describe('ownPath', () => {
  const own = ['/dashboard', '/dashboard/', '/dashboard/credits?cursor=x', '/dashboard/scans/new', '/dashboard/account?a=1&b=%2F%2Fevil'];
  for (const address of own) it(`keeps ${address}`, () => expect(ownPath(address)).to.equal(address));

  const hostile = [
    '//evil.example/dashboard',
    '/\\evil.example/dashboard',
    '/\t/evil.example/dashboard',
    'https://evil.example/dashboard',
    'http://own.invalid:8080/dashboard',
    '/dashboard/..//evil.example',
    '/dashboard/../v1/api-keys',
    '/dashboards',
    '/dashboard/sign-in?next=/dashboard',
    'http://[',
    `/dashboard/${'x'.repeat(3000)}`,
    undefined,
  ];
  for (const address of hostile) it(`replaces ${JSON.stringify(address)?.slice(0, 60)}`, () => expect(ownPath(address)).to.equal(HOME));

  it('removes the fragment and control characters', () => {
    expect(ownPath('/dashboard/account#x')).to.equal('/dashboard/account');
    expect(ownPath('/dash\tboard/acc\r\nount?a=b\r\nSet-Cookie: x')).to.equal('/dashboard/account?a=bSet-Cookie:%20x');
  });

  it('never leaves the dashboard, and is the same when it is applied again', () => {
    const pieces = fc.constantFrom('/', '\\', '//', 'dashboard', '..', '%2e%2e', '%2f', '%5c', '@', ':', 'https:', 'evil.example', '?', '#', '\t', '\r\n', ' ', '\u0000', 'ä'); // prettier-ignore
    const addresses = fc.oneof(
      fc.string(),
      fc.webUrl(),
      fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(addresses, fc.boolean(), (address, prefixed) => {
        const path = ownPath(prefixed ? `/dashboard${address}` : address);
        const resolved = new URL(path, 'https://curbcut.example/dashboard/sign-in');
        expect(resolved.origin).to.equal('https://curbcut.example');
        expect(path)
          .to.match(/^\/dashboard(?:\/[^\\?]*)?(?:\?|$)/)
          .and.not.match(/\p{Cc}/u);
        expect(ownPath(path)).to.equal(path);
      }),
      { numRuns: 300 },
    );
  });
});

describe('signInPath', () => {
  const cases: [address: string, unsaved: boolean, path: string][] = [
    ['/dashboard', false, '/dashboard/sign-in'],
    ['/dashboard', true, '/dashboard/sign-in?unsaved'],
    ['/dashboard/account?x=1&y', false, '/dashboard/sign-in?next=%2Fdashboard%2Faccount%3Fx%3D1%26y'],
    ['/dashboard/account', true, '/dashboard/sign-in?next=%2Fdashboard%2Faccount&unsaved'],
    ['//evil.example', false, '/dashboard/sign-in'],
  ];
  for (const [address, unsaved, path] of cases)
    it(`leads to ${address} afterwards${unsaved ? ', and says that a form was not saved' : ''}`, () =>
      expect(signInPath(address, { unsaved })).to.equal(path));
});
