/** Servers that limit the rate of requests: the scan slows down, and what stays limited counts against the coverage. */
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { deriveResults } from '../../report/results/results.ts';
import { answer, failureOf, html, openSite, scan, testedOf, type Route, type Site } from './site.ts';

describe('servers that limit the rate of requests', () => {
  let site: Site;
  afterEach(() => site.close());

  const names = Array.from({ length: 12 }, (_, at) => `/p${at}`);
  const start = html(names.map((path) => `<p><a href="${path}">${path}</a></p>`).join(''));
  const page = (path: string): string => html(`Page ${path}`, { title: path });
  const send = (response: ServerResponse, body: string): void => void response.writeHead(200, { 'content-type': 'text/html' }).end(body);

  for (const [name, status, headers] of [
    ['429 with Retry-After', 429, { 'retry-after': '1' }],
    ['503 with Retry-After', 503, { 'retry-after': '1' }],
    ['429 without Retry-After', 429, {}],
  ] as const) {
    it(`are scanned completely, with any number of workers, if they respond with ${name}`, async () => {
      const window = 600;
      const allowed = 3;
      let limited = 0;
      let served: number[] = [];
      const guarded =
        (path: string): Route =>
        (_request, response) => {
          const now = performance.now();
          served = served.filter((at) => now - at < window);
          if (served.length >= allowed) {
            limited += 1;
            return void response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(html('Too many requests'));
          }
          served.push(now);
          send(response, page(path));
        };
      site = await openSite({ '/': start, ...Object.fromEntries(names.map((path) => [path, guarded(path)])) });
      const { pages } = await scan(`${site.origin}/`, {}, { workers: 4 });
      expect(testedOf(pages)).to.have.length(13);
      expect(limited).to.be.greaterThan(0);
    });
  }

  it('fail the threshold of coverage if they stay limited, and are not asked for every page', async () => {
    let left = 3;
    const guarded =
      (path: string): Route =>
      (_request, response) => {
        left -= 1;
        if (left >= 0) return send(response, page(path));
        response.writeHead(429, { 'retry-after': '3600' }).end();
      };
    site = await openSite({ '/': start, ...Object.fromEntries(names.map((path) => [path, guarded(path)])) });
    const { pages } = await scan(`${site.origin}/`, {}, { workers: 1 });
    expect(testedOf(pages)).to.have.length(4);
    const limited = pages.flatMap((page) => (page.tested ? [] : [page]));
    expect(limited.map(({ reason }) => reason)).to.deep.equal(Array(9).fill('rate_limited'));
    const wasRequested = ({ url }: { url: string }): boolean => site.hits(new URL(url).pathname) > 0;
    const requested = limited.filter(wasRequested);
    const notRequested = limited.filter((page) => !wasRequested(page));
    expect(notRequested).to.have.length.greaterThan(0);
    for (const page of requested) {
      expect(page.http_status, page.url).to.equal(429);
      expect(page.message, page.url).to.include('asks to wait 3600 s');
    }
    for (const page of notRequested) expect(page.message, page.url).to.include('was not requested');
    const { verdict } = deriveResults(pages, { minScore: 0 });
    expect(verdict.passed).to.equal(false);
    expect(verdict.message).to.match(/coverage is 30\.7/);
  });

  it('fail the scan with their status if they limit the first page', async () => {
    site = await openSite({ '/': answer(429, { 'retry-after': '3600' }) });
    const error = await failureOf(scan(`${site.origin}/`));
    expect(error).to.include({ reason: 'target_unreachable' });
    expect(error.message).to.include('status 429').and.to.include('3600 s');
  });
});
