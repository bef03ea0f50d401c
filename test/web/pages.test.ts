/** What all pages have in common, over HTTP: errors, methods, headers, assets. */
import { expect } from 'chai';
import { useContext } from '../api/context.ts';
import { down } from '../api/replica.ts';

const HTML = { accept: 'text/html,application/xhtml+xml' };

describe('pages', () => {
  const legal = { imprint: 'https://example.com/imprint', privacy: 'https://example.com/privacy?a=1&b=2' };
  const context = useContext({ publicBaseUrl: 'https://curbcut.example', legal });

  const get = async (path: string, options: RequestInit = {}) => {
    const response = await fetch(context.url + path, { redirect: 'manual', ...options });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const heading = (text: string): string | undefined => /<h1>([^<]*)/.exec(text)?.[1];

  it('have a strict policy and are not cached', async () => {
    const { headers } = await get('/');
    expect(headers.get('content-security-policy')).to.equal(
      "default-src 'none';script-src 'self';style-src 'self';font-src 'self';img-src 'self';connect-src 'self';frame-src 'none';form-action 'self';frame-ancestors 'none';base-uri 'none'",
    );
    expect(headers.get('x-frame-options')).to.equal('DENY');
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
    expect(headers.get('referrer-policy')).to.equal('same-origin');
    expect(headers.get('strict-transport-security')).to.equal('max-age=31536000');
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(headers.get('x-powered-by')).to.equal(null);
  });

  it('link to the legal notice and the privacy policy of the operator', async () => {
    for (const path of ['/de', '/dashboard/sign-in?language=de', '/docs']) {
      const [imprint, privacy] = path === '/docs' ? ['Legal notice', 'Privacy'] : ['Impressum', 'Datenschutz'];
      const [, footer] = (await get(path)).text.split('<footer');
      expect(footer, path)
        .to.include(`<a href="https://example.com/imprint">${imprint}</a>`)
        .and.include(`<a href="https://example.com/privacy?a=1&amp;b=2">${privacy}</a>`);
    }
  });

  it('name the other languages, the canonical address and their own language', async () => {
    const { text } = await get('/fr?utm_source=mail');
    expect(text).to.include('<html lang="fr">').and.include('<link rel="canonical" href="https://curbcut.example/fr" />');
    for (const [lang, href] of [
      ['en', '/'],
      ['de', '/de'],
      ['pl', '/pl'],
      ['x-default', '/'],
    ])
      expect(text).to.include(`<link rel="alternate" hreflang="${lang}" href="https://curbcut.example${href}"`);
  });

  for (const [name, path, headers, type] of [
    ['a page to a browser', '/nothing', HTML, 'text/html; charset=utf-8'],
    ['a German page below /de', '/de/nichts', HTML, 'text/html; charset=utf-8'],
    ['JSON to a program', '/nothing', { accept: 'application/json' }, 'application/json; charset=utf-8'],
    ['JSON to a client that accepts anything', '/nothing', {}, 'application/json; charset=utf-8'],
    ['JSON to a browser below /v1', '/v1/nothing', HTML, 'application/json; charset=utf-8'],
  ] as const)
    it(`that do not exist are answered by 404: ${name}`, async () => {
      const { status, headers: got, text } = await get(path, { headers });
      expect([status, got.get('content-type')]).to.deep.equal([404, type]);
      if (type.startsWith('text')) {
        expect(heading(text)).to.equal(path.startsWith('/de') ? 'Seite nicht gefunden' : 'Page not found');
        expect(text).to.include(got.get('x-request-id')!);
      }
    });

  it('answer other methods with 405 and Allow, as a page', async () => {
    const { status, headers, text } = await get('/de', { method: 'DELETE', headers: HTML });
    expect([status, headers.get('allow'), heading(text)]).to.deep.equal([405, 'GET, HEAD', 'Das ist auf dieser Seite nicht möglich']);
  });

  it('answer other methods of REST paths as before', async () => {
    const { status, headers, text } = await get('/healthz', { method: 'DELETE', headers: HTML });
    expect(status).to.equal(405);
    expect(headers.get('allow')).to.equal('GET, HEAD');
    expect(heading(text)).to.equal('This page does not accept that');
    const rest = await get('/v1/billing/credits', { method: 'DELETE', headers: HTML });
    expect((JSON.parse(rest.text) as { detail: string }).detail).to.equal('method_not_allowed');
  });

  it('refuse forms that are too large with 413, and other bodies with 415', async () => {
    const large = await get('/scan-request', { method: 'POST', body: new URLSearchParams({ url: 'x'.repeat(40_000) }) });
    expect([large.status, heading(large.text)]).to.deep.equal([413, 'That is too much text']);
    const json = await get('/scan-request', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json', accept: '*/*' } });
    expect([json.status, heading(json.text)]).to.deep.equal([415, 'This request cannot be processed']);
  });

  it('do not let REST routes read forms', async () => {
    const { key } = await context.organisation();
    const response = await get('/v1/api-keys', { method: 'POST', body: new URLSearchParams({ name: 'x' }), headers: { 'x-api-key': key } });
    expect([response.status, (JSON.parse(response.text) as { detail: string }).detail]).to.deep.equal([415, 'unsupported_media_type']);
  });

  it('say with 503 and Retry-After that a dependency is down, and show nothing of it', async () => {
    context.faults.set('publicScans.findByToken', down);
    const { status, headers, text } = await get('/nl/scan/x', { headers: HTML });
    expect([status, headers.get('retry-after')]).to.deep.equal([503, '5']);
    expect(heading(text)).to.equal('De dienst is tijdelijk niet beschikbaar');
    expect(text).to.include('Probeer het over 5 seconden opnieuw.').and.not.include('secret-host');
  });

  it('say with 500 that there is an error, with the ID of the request, and show nothing of it', async () => {
    context.faults.set('publicScans.findByToken', () => Promise.reject(new TypeError('a secret detail')));
    const { status, headers, text } = await get('/scan/x', { headers: { ...HTML, 'x-request-id': 'my-request-7' } });
    expect([status, headers.get('x-request-id'), heading(text)]).to.deep.equal([500, 'my-request-7', 'Something went wrong']);
    expect(text).to.include('my-request-7').and.not.include('secret detail');
    context.log.length = 0;
  });

  it('load assets that browsers may keep for ever, compressed', async () => {
    const address = /href="(\/assets\/[^"]+\/site\.css)"/.exec((await get('/')).text)![1]!;
    const asset = await get(address, { headers: { 'accept-encoding': 'br' } });
    expect(asset.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
    expect(asset.headers.get('content-encoding')).to.equal('br');
    expect(asset.headers.get('content-type')).to.equal('text/css; charset=utf-8');
    expect(asset.text).to.include('--accent:').and.include('.button-primary');
    const plain = await get(address, { headers: { 'accept-encoding': 'gzip;q=0, identity' } });
    expect(plain.headers.get('content-encoding')).to.equal(null);
    expect(plain.text).to.equal(asset.text);
  });

  it('get assets of another version during an update, which nothing keeps', async () => {
    const asset = await get('/assets/000000000000/site.css');
    expect([asset.status, asset.headers.get('cache-control')]).to.deep.equal([200, 'no-store']);
  });

  for (const path of ['/assets/0/nothing.css', '/assets/0/../html.ts', '/assets/0/%2e%2e%2fhtml.ts', '/assets/0/__proto__', '/assets/0/'])
    it(`serve no other file: ${path}`, async () => {
      expect((await get(path)).status).to.equal(404);
    });
});
