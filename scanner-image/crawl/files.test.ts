import { expect } from 'chai';
import { addressOf } from './address.ts';
import { parseRobots } from './robots.ts';
import fc from 'fast-check';
import { collectSitemaps, createSitemapReader } from './sitemaps.ts';
import { gzipSync } from 'node:zlib';
import { FetchRefused, type FetchOptions, type GuardedFetch } from '../egress/fetch.ts';

describe('robots.txt', () => {
  const location = new URL('https://example.org/robots.txt');
  it('prefers the group of our own user agent', () => {
    const robots = parseRobots(
      location,
      'User-agent: *\nDisallow: /\nUser-agent: curbcut\nDisallow: /private\nAllow: /private/open$\nCrawl-delay: 2\nSitemap: /map.xml',
    );
    expect(robots.refusal(new URL('https://example.org/a'))).to.equal(null);
    expect(robots.refusal(new URL('https://example.org/private/x'))).to.equal(
      'https://example.org/robots.txt disallows /private/x (line 4).',
    );
    expect(robots.refusal(new URL('https://example.org/private/open'))).to.equal(null);
    expect(robots.crawlDelay).to.equal(2);
    expect(robots.sitemaps.map(({ href }) => href)).to.deep.equal(['https://example.org/map.xml']);
  });
  it('limits the crawl delay to 5 s', () => {
    expect(parseRobots(location, 'User-agent: *\nCrawl-delay: 86400').crawlDelay).to.equal(5);
    expect(parseRobots(location, 'User-agent: *\nCrawl-delay: no').crawlDelay).to.equal(0);
  });
  it('allows all pages if the file is HTML', () =>
    expect(parseRobots(location, '<!doctype html><p>hello').refusal(location)).to.equal(null));
});

/** Reads a sitemap that arrives in chunks. */
function read(...chunks: string[]): { pages: string[]; sitemaps: string[] } {
  const pages: string[] = [];
  const sitemaps: string[] = [];
  const reader = createSitemapReader({ page: (url) => pages.push(url), sitemap: (url) => sitemaps.push(url) });
  for (const chunk of chunks) reader.write(chunk);
  reader.end();
  return { pages, sitemaps };
}

describe('sitemap reader', () => {
  const cases: [string, string, string[], string[]][] = [
    [
      'one page',
      '<urlset><url><loc> https://a.test/?x=1&amp;y=2 </loc><lastmod>2026</lastmod></url></urlset>',
      ['https://a.test/?x=1&y=2'],
      [],
    ],
    [
      'prefixes and CDATA',
      '<s:urlset xmlns:s="x"><s:url><s:loc><![CDATA[https://a.test/]]></s:loc></s:url></s:urlset>',
      ['https://a.test/'],
      [],
    ],
    [
      'an index',
      '<?xml version="1.0"?><sitemapindex><sitemap><loc>a.xml</loc></sitemap><sitemap><loc>b.xml</loc></sitemap></sitemapindex>',
      [],
      ['a.xml', 'b.xml'],
    ],
    ['text', 'https://a.test/1\r\nnonsense\nhttps://a.test/2\n', ['https://a.test/1', 'https://a.test/2'], []],
    ['a number as a URL', '<urlset><url><loc>42</loc></url><url/></urlset>', ['42'], []],
    ['numeric references', '<urlset><url><loc>https://a.test/&#228;&#x26;</loc></url></urlset>', ['https://a.test/ä&'], []],
    ['an HTML page', '<!doctype html><p>x', [], []],
    ['a document type', '<!DOCTYPE urlset><urlset><url><loc>https://a.test/</loc></url></urlset>', ['https://a.test/'], []],
    [
      'RSS',
      '<rss><channel><link>https://a.test/</link><item><link>https://a.test/1</link><atom:link href="https://a.test/feed"/></item></channel></rss>',
      ['https://a.test/1'],
      [],
    ],
    [
      'Atom',
      '<feed><link href="/"/><entry><link href="https://a.test/1"/><link rel="edit" href="https://a.test/e"/></entry></feed>',
      ['https://a.test/1'],
      [],
    ],
    ['RSS 1.0', '<rdf:RDF><item><link>https://a.test/1</link></item></rdf:RDF>', ['https://a.test/1'], []],
    ['no entities', '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>', [], []],
    ['broken XML', '<urlset><url><loc>https://a.test/1</loc></url><url><lo', ['https://a.test/1'], []],
    [
      'pictures of a page',
      '<urlset><url><loc>https://a.test/</loc><image:image><image:loc>https://a.test/x.png</image:loc></image:image></url></urlset>',
      ['https://a.test/'],
      [],
    ],
    ['an empty file', '', [], []],
  ];
  for (const [name, text, pages, sitemaps] of cases)
    it(`reads ${name}`, () => {
      expect(read(text)).to.deep.equal({ pages, sitemaps });
    });

  it('reads the same however a file arrives', () => {
    const whole = fc.constantFrom(...cases.map(([, text]) => text));
    fc.assert(
      fc.property(whole, fc.array(fc.nat({ max: 120 }), { maxLength: 8 }), (text, cuts) => {
        const at = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
        expect(read(...at.slice(1).map((end, index) => text.slice(at[index], end)))).to.deep.equal(read(text));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('sitemaps', () => {
  const location = new URL('https://example.org/sitemap.xml');
  const CHUNK = 200;
  let chunksRead = 0;

  /** A fetch of one file with `count` addresses, in chunks of 200. */
  function fileOf(count: number): GuardedFetch {
    async function* chunks(): AsyncGenerator<Uint8Array> {
      const encoder = new TextEncoder();
      yield encoder.encode('<urlset>');
      for (let at = 0; at < count; at += CHUNK) {
        chunksRead += 1;
        yield encoder.encode(
          Array.from({ length: CHUNK }, (_, index) => `<url><loc>https://example.org/page-${at + index}</loc></url>`).join(''),
        );
      }
      yield encoder.encode('</urlset>');
    }
    return {
      async get(url: URL, options: FetchOptions) {
        await options.consume!(chunks(), '');
        return { url, status: 200, contentType: 'application/xml', body: new Uint8Array(), cut: false };
      },
      close: () => Promise.resolve(),
    };
  }
  beforeEach(() => (chunksRead = 0));

  it('are read no further than necessary', async () => {
    const { pages, unread, cut } = await collectSitemaps([location], fileOf(50_000), {
      enough: 30,
      take: (url) => addressOf(new URL(url)),
      deadline: Number.POSITIVE_INFINITY,
    });
    expect(pages).to.have.length(30);
    expect(unread).to.deep.equal([]);
    expect(cut).to.equal(1);
    expect(chunksRead).to.be.at.most(2);
  });

  const urlset = (...paths: string[]): string =>
    `<urlset>${paths.map((path) => `<url><loc>https://example.org${path}</loc></url>`).join('')}</urlset>`;
  const index = (paths: string[]): string =>
    `<sitemapindex>${paths.map((path) => `<sitemap><loc>${path}</loc></sitemap>`).join('')}</sitemapindex>`;
  type File = string | Buffer | number | FetchRefused;

  /** A fetch of files by path: their content, a status, or an error. Others do not exist. */
  function filesOf(files: Record<string, File>, contentType = ''): GuardedFetch {
    return {
      async get(url, options) {
        const file = files[url.pathname] ?? 404;
        if (file instanceof FetchRefused) throw file;
        const status = typeof file === 'number' ? file : 200;
        async function* chunks(): AsyncGenerator<Uint8Array> {
          yield Buffer.from(file as string);
        }
        if (status === 200) await options.consume!(chunks(), contentType);
        return { url, status, contentType: '', body: new Uint8Array(), cut: url.pathname === '/cut.xml' };
      },
      close: () => Promise.resolve(),
    };
  }

  const read = (files: Record<string, File>, isDefault: boolean, deadline = Number.POSITIVE_INFINITY): ReturnType<typeof collectSitemaps> =>
    collectSitemaps([location], filesOf(files), { isDefault, enough: 1000, take: (url) => addressOf(new URL(url)), deadline });
  const unreadOf = async (...from: Parameters<typeof read>): Promise<string[]> =>
    (await read(...from)).unread.map(({ url, message }) => `${url.pathname}: ${message}`);

  const refused = new FetchRefused('network', 'example.org closed the connection.');
  const page = '<!doctype html><title>Not found</title>';
  const NEITHER = 'It is neither a sitemap, RSS or Atom in XML without entities of its own, nor a list of addresses.';
  const problems: [string, File, named: string | null, atDefault: string | null][] = [
    ['a sitemap', urlset('/a'), null, null],
    ['a sitemap without pages', '<urlset/>', null, null],
    ['a list', 'https://example.org/a\n', null, null],
    ['no such file', 404, 'The server responded with status 404.', null],
    ['a page in its place', page, NEITHER, null],
    ['a file with nothing', '', NEITHER, NEITHER],
    ['a file of another kind', '{"pages": []}', NEITHER, NEITHER],
    ['a document type with entities', `<!DOCTYPE urlset [<!ENTITY a "b">]>${urlset('/a')}`, NEITHER, NEITHER],
    ['a failing server', 500, 'The server responded with status 500.', 'The server responded with status 500.'],
    ['a server that limits requests', 429, 'The server responded with status 429.', 'The server responded with status 429.'],
    ['a failing network', refused, refused.message, refused.message],
    [
      'a damaged file',
      gzipSync(urlset('/a')).subarray(0, -9),
      'It is damaged, so it was not unpacked to its end.',
      'It is damaged, so it was not unpacked to its end.',
    ],
  ];
  for (const [what, file, ...expected] of problems)
    for (const [at, isDefault] of [false, true].entries())
      it(`report ${expected[at] === null ? 'nothing about' : 'what is wrong with'} ${what}${isDefault ? ' at the default address' : ''}`, async () =>
        expect(await unreadOf({ '/sitemap.xml': file }, isDefault)).to.deep.equal(
          expected[at] === null ? [] : [`/sitemap.xml: ${expected[at]}`],
        ));

  const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
  const encoded: [string, Buffer, string][] = [
    ['UTF-16 with a mark', utf16(`\ufeff${urlset('/ä')}`), ''],
    ['UTF-16 with the other byte order', utf16(`\ufeff${urlset('/ä')}`).swap16(), ''],
    ['UTF-16 without a mark', utf16(urlset('/ä')), ''],
    ['a header with a charset', Buffer.from(urlset('/ä'), 'latin1'), 'application/xml; charset="ISO-8859-1"'],
    ['a declaration', Buffer.from(`<?xml version="1.0" encoding='iso-8859-1'?>${urlset('/ä')}`, 'latin1'), 'application/xml'],
    ['a declaration that is wrong', Buffer.from(`<?xml version="1.0" encoding="utf-16"?>${urlset('/ä')}`), ''],
    ['an unknown charset', Buffer.from(urlset('/ä')), 'text/xml; charset=x-none'],
    ['two layers of gzip', gzipSync(gzipSync(urlset('/ä'))), ''],
  ];
  for (const [how, content, contentType] of encoded)
    it(`are decoded by ${how}`, async () => {
      const files = filesOf({ '/sitemap.xml': content }, contentType);
      const { pages } = await collectSitemaps([location], files, {
        enough: 9,
        take: (url) => addressOf(new URL(url)),
        deadline: Number.POSITIVE_INFINITY,
      });
      expect(pages.map(({ pathname }) => pathname)).to.deep.equal(['/%C3%A4']);
    });

  it('report each part of an index that was not read', async () => {
    const files = { '/sitemap.xml': index(['/gone.xml', '/cut.xml', '/a.xml']), '/cut.xml': urlset('/c'), '/a.xml': urlset('/a') };
    const { pages, unread } = await read(files, true);
    expect(pages.map(({ pathname }) => pathname)).to.deep.equal(['/c', '/a']);
    expect(unread.map(({ url }) => url.pathname)).to.deep.equal(['/gone.xml', '/cut.xml']);
    expect(unread[1]!.message).to.equal('It is larger than 50 MiB, so its end was not read.');
  });

  it('report an index with too many parts, and the parts that were not read', async () => {
    const parts = Array.from({ length: 31 }, (_, at) => `/${at}.xml`);
    const files = { '/sitemap.xml': index(parts), ...Object.fromEntries(parts.map((path) => [path, urlset(`${path}/a`)])) };
    expect(await unreadOf(files, true)).to.deep.equal([
      '/sitemap.xml: It lists more than 30 sitemaps, of which the first were read.',
      '/29.xml: It was not read, because a scan reads at most 30 sitemaps.',
    ]);
  });

  it('report an index that is too deep', async () => {
    const files = { '/sitemap.xml': index(['/1']), '/1': index(['/2']), '/2': index(['/3']), '/3': index(['/4']), '/4': urlset('/a') };
    expect(await unreadOf(files, true)).to.deep.equal(['/4: It was not read, because it is listed within 4 indexes.']);
  });

  it('report what was not read in time', async () =>
    expect(await unreadOf({ '/sitemap.xml': urlset('/a') }, true, 0)).to.deep.equal([
      '/sitemap.xml: It was not read, because the time for sitemaps was up.',
    ]));

  it('let other work run between their parts', async () => {
    let turns = 0;
    let reading = true;
    const count = (): void => {
      turns += 1;
      if (reading) setImmediate(count);
    };
    setImmediate(count);
    let seen = 0;
    await collectSitemaps([location], fileOf(50_000), {
      enough: 30,
      take: () => ((seen += 1), null),
      deadline: Number.POSITIVE_INFINITY,
    });
    reading = false;
    expect(seen).to.equal(50_000);
    expect(turns).to.be.at.least(chunksRead);
  });
});
