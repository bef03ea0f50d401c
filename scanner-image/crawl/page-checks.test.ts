import { expect } from 'chai';
import { botProtection, isHtml, judgeError, judgeHead, retryAfterMs } from './page-checks.ts';

const head = (status: number, headers: Record<string, string> = {}) => ({ url: 'https://example.org/', status, headers });

describe('page checks', () => {
  const types: [string, boolean][] = [
    ['text/html', true],
    ['Text/HTML; charset=utf-8', true],
    ['application/xhtml+xml', true],
    ['text/plain', false],
    ['text/htmlx', false],
    ['application/json', false],
  ];
  for (const [type, html] of types) it(`treat ${type} as ${html ? 'a' : 'no'} web page`, () => expect(isHtml(type)).to.equal(html));

  it('judge a response by its headers', () => {
    expect(judgeHead(head(200, { 'content-type': 'text/html' }))).to.equal(null);
    expect(judgeHead(head(200))).to.equal(null);
    expect(judgeHead(head(204))?.reason).to.equal('not_html');
    expect(judgeHead(head(200, { 'content-type': 'application/pdf' }))).to.deep.equal({
      reason: 'not_html',
      message: 'The URL returns application/pdf, not a web page.',
    });
    expect(judgeHead(head(200, { 'content-type': 'text/html', 'content-disposition': 'Attachment; filename=a' }))?.reason).to.equal(
      'download',
    );
    expect(judgeHead(head(200, { 'content-type': 'text/html', 'content-disposition': 'inline' }))).to.equal(null);
  });

  it('explain an error status', () => {
    expect(judgeError(head(404), '').message).to.equal('The server responded with status 404: the page does not exist.');
    expect(judgeError(head(418), '').message).to.include('418');
    expect(judgeError(head(502), '').message).to.include('the server failed');
  });

  const challenges: [string, Record<string, string>, string][] = [
    ['Cloudflare', { 'cf-mitigated': 'challenge' }, ''],
    ['Cloudflare', {}, '<title>Just a moment...</title>'],
    ['AWS WAF', { 'x-amzn-waf-action': 'captcha' }, ''],
    ['DataDome', {}, '<script src="https://ct.captcha-delivery.com/c.js">'],
    ['HUMAN', {}, '<div id="px-captcha"></div>'],
    ['Imperva', {}, '<iframe src="/_Incapsula_Resource?SWUDNSAI=31">'],
    ['Akamai', {}, '<TITLE>Access Denied</TITLE> You… Reference&#32;&#35;18.2f'],
  ];
  for (const [name, headers, body] of challenges)
    it(`recognise bot protection by ${name}`, () => expect(botProtection(headers, body)).to.equal(name));
  it('do not mistake an error page, or an article about bot protection, for bot protection', () => {
    expect(botProtection({ server: 'cloudflare' }, '<title>Forbidden</title>')).to.equal(null);
    expect(botProtection({}, '<title>What "Just a moment..." means</title> Access Denied')).to.equal(null);
  });

  it('parse Retry-After in seconds and as a date', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    expect(retryAfterMs('7', now)).to.equal(7000);
    expect(retryAfterMs('Thu, 01 Jan 2026 00:00:09 GMT', now)).to.equal(9000);
    expect(retryAfterMs('Wed, 31 Dec 2025 00:00:00 GMT', now)).to.equal(0);
    expect(retryAfterMs('soon', now)).to.equal(null);
    expect(retryAfterMs(undefined, now)).to.equal(null);
  });
});
