import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { SignInPlan } from '../../../core/scan/sign-in.ts';
import { readSignIn, resolveSignIn, signInHeaders, type SignIn } from './sign-in.ts';

const START = new URL('https://shop.example.com/start?x=1');

const resolve = (plan: SignInPlan, values: Record<string, string>) => resolveSignIn(plan, new Map(Object.entries(values)), START);

function resolved(plan: SignInPlan, values: Record<string, string>): SignIn {
  const read = resolve(plan, values);
  if (!read.ok) throw new Error(read.reason);
  return read.signIn;
}

const refusal = (plan: SignInPlan, values: Record<string, string>): string => {
  const read = resolve(plan, values);
  return read.ok ? 'none' : read.reason;
};

const TOKEN_HEADER = { name: 'X-Token', secretKey: 'api-token', prefix: 'Bearer ', origin: 'https://api.example.com' };

describe('sign-in of a pod', () => {
  it('is absent without a Secret', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'curbcut-sign-in-'));
    try {
      expect(await readSignIn(join(folder, 'none'), undefined, START)).to.equal(null);
      expect(await readSignIn(folder, undefined, START)).to.equal(null);
      expect(await readSignIn(folder, {}, START), 'a scan with a sign-in never runs without one').to.deep.include({ ok: false });
      await writeFile(join(folder, 'username'), 'ann\n');
      await writeFile(join(folder, 'password'), 'p:w\r\n');
      const read = await readSignIn(folder, {}, START);
      expect(read).to.have.nested.property('signIn.basic').that.deep.equals({ origin: START.origin, username: 'ann', password: 'p:w' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('uses username, password and cookie if the scan names no other keys', () => {
    const { basic, cookies, headers, steps } = resolved({}, { username: 'ann', password: 'p:w', cookie: 'a=1; b=x=y;; nonsense; =z' });
    expect(basic).to.deep.equal({ origin: START.origin, username: 'ann', password: 'p:w' });
    expect(cookies).to.deep.equal([
      { origin: START.origin, name: 'a', value: '1' },
      { origin: START.origin, name: 'b', value: 'x=y' },
    ]);
    expect([headers, steps]).to.deep.equal([[], []]);
  });

  it('does not use them as HTTP basic authentication or as a cookie if the scan names how they are used', () => {
    const plan = { steps: [{ goto: '/login' }, { fill: { selector: '#name', secretKey: 'username' } }] };
    const { basic, cookies, steps } = resolved(plan, { username: 'ann', password: 'pw', cookie: 'a=1' });
    expect([basic, cookies]).to.deep.equal([undefined, []]);
    expect(steps.map(({ description, value }) => [description, value])).to.deep.equal([
      ['goto /login', undefined],
      ['fill #name from the key username', 'ann'],
    ]);
  });

  it('sends headers and HTTP basic authentication only to their origins', () => {
    const plan: SignInPlan = { headers: [TOKEN_HEADER], basic: { usernameKey: 'username', passwordKey: 'password' } };
    const values = { username: 'a', password: 'b', 'api-token': 'tok-123', origins: 'https://shop.example.com\nhttps://api.example.com' };
    const signIn = resolved(plan, values);
    const sent = (url: string): object => signInHeaders(signIn, new URL(url));
    expect(sent('https://shop.example.com/x')).to.deep.equal({ authorization: 'Basic YTpi' });
    expect(sent('https://api.example.com/x')).to.deep.equal({ 'x-token': 'Bearer tok-123' });
    for (const other of [
      'http://shop.example.com/',
      'https://www.shop.example.com/',
      'https://shop.example.com:8443/',
      'http://api.example.com/',
    ])
      expect(sent(other), other).to.deep.equal({});
  });

  const origins = START.origin;
  const refused: readonly [string, SignInPlan, Record<string, string>, string][] = [
    ['the Secret has no key that is used', {}, { other: 'x' }, 'none of the keys'],
    ['there is a user name without a password', {}, { username: 'ann' }, 'a username but no password'],
    ['there is a password without a user name', {}, { password: 'pw' }, 'a password but no username'],
    ['a named key is missing', { cookies: [{ name: 'a', secretKey: 'gone' }] }, { origins }, 'has no key gone'],
    [
      'a value is empty',
      { cookies: [{ name: 'a', secretKey: 'blank' }] },
      { origins, blank: '' },
      'key blank in the Secret of the sign-in is empty',
    ],
    ['a value has several lines', { cookies: [{ name: 'a', secretKey: 'lines' }] }, { origins, lines: 'a\nX: b' }, 'more than one line'],
    ['a Secret that is not made for scans would be used', { cookies: [{ name: 'a', secretKey: 'db' }] }, { db: 'x' }, 'has no key origins'],
    [
      'the Secret does not list an origin',
      { headers: [TOKEN_HEADER] },
      { origins, 'api-token': 'x' },
      'does not list https://api.example.com',
    ],
    ['the site is not listed', {}, { cookie: 'a=1', origins: 'https://other.example.com' }, 'does not list https://shop.example.com'],
    ['the first step opens no page', { steps: [{ click: '#in' }] }, { cookie: 'x' }, 'first step'],
    [
      'a step goes to no web page',
      { steps: [{ goto: 'javascript:1' }, { fill: { selector: 'a', secretKey: 'cookie' } }] },
      { cookie: 'x' },
      'cannot go to',
    ],
    [
      'an origin of the scan is not one',
      { headers: [{ ...TOKEN_HEADER, origin: 'https://api.example.com:99999' }] },
      { origins, 'api-token': 'x' },
      'cannot send values to https://api.example.com:99999',
    ],
    [
      'an origin has a wildcard, which no request would match',
      { cookies: [{ name: 'a', secretKey: 'cookie', origin: 'https://*.example.com' }] },
      { cookie: 'abc', origins: 'https://shop.example.com' },
      'cannot send values to https://*.example.com',
    ],
    [
      'the Secret lists what is no origin',
      { steps: [{ goto: '/' }] },
      { origins: `${origins} shop.example.net` },
      'has as entry 2 no origin',
    ],
    ['the Secret lists no origin', { steps: [{ goto: '/' }] }, { origins: ' ' }, 'lists no origin'],
    [
      'the browser would reject a header',
      { headers: [{ ...TOKEN_HEADER, name: 'Host', origin: undefined }] },
      { origins, 'api-token': 'x' },
      'header Host',
    ],
    [
      'cookies are given as a header',
      { headers: [{ ...TOKEN_HEADER, name: 'cookie', origin: undefined }] },
      { origins, 'api-token': 'x' },
      'Use cookies',
    ],
    [
      'the value of a header cannot be sent',
      { headers: [{ ...TOKEN_HEADER, origin: undefined }] },
      { origins, 'api-token': 'zażółć' },
      'header X-Token of the sign-in has characters',
    ],
    [
      'the prefix of a header has lines',
      { headers: [{ ...TOKEN_HEADER, prefix: 'a\n', origin: undefined }] },
      { origins, 'api-token': 'x' },
      'header X-Token',
    ],
    [
      'a cookie would be two',
      { cookies: [{ name: 'a', secretKey: 'cookie' }] },
      { cookie: 'tok; admin=1' },
      'cookie a of the sign-in has characters',
    ],
  ];
  for (const [when, plan, values, sentence] of refused)
    it(`is refused if ${when}, with a sentence that has no value`, () => {
      const reason = refusal(plan, values);
      expect(reason).to.include(sentence);
      for (const value of Object.values(values).filter((text) => text.length > 3 && text !== origins)) expect(reason).to.not.include(value);
    });

  it('types values only in pages of the origins that the Secret lists, or the scan names', () => {
    const plan = { steps: [{ goto: 'https://idp.example.com/' }, { fill: { selector: '#p', secretKey: 'password' } }] };
    expect(resolved(plan, { password: 'pw' }).origins).to.deep.equal([START.origin, 'https://idp.example.com']);
    expect(resolved(plan, { password: 'pw', origins: 'https://idp.example.com/' }).origins).to.deep.equal(['https://idp.example.com']);
  });
});
