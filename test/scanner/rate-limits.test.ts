/** Servers that limit the rate of requests: the scan slows down, and what stays limited counts against the coverage. */
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { answer, failureOf, html, openSite, scan, testedOf, type Route, type Site } from './site.ts';

describe('servers that limit the rate of requests', () => {
  let site: Site;
  afterEach(() => site.close());

  const names = Array.from({ length: 12 }, (_, at) => `/p${at}`);
  const start = html(names.map((path) => `<p><a href="${path}">${path}</a></p>`).join(''));
  const page = (path: string): string => html(`Page ${path}`, { title: path });
  const send = (response: ServerResponse, body: string): void => void response.writeHead(200, { 'content-type': 'text/html' }).end(body);

  it('are scanned completely, with several workers', async () => {
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
          return void response.writeHead(429, { 'content-type': 'text/html', 'retry-after': '1' }).end(html('Too many requests'));
        }
        served.push(now);
        send(response, page(path));
      };
    site = await openSite({ '/': start, ...Object.fromEntries(names.map((path) => [path, guarded(path)])) });
    const { pages } = await scan(`${site.origin}/`, {}, { workers: 4 });
    expect(testedOf(pages)).to.have.length(13);
    expect(limited).to.be.greaterThan(0);
  });

  it('fail the scan with their status if they limit the first page', async () => {
    site = await openSite({ '/': answer(429, { 'retry-after': '3600' }) });
    const error = await failureOf(scan(`${site.origin}/`));
    expect(error).to.include({ reason: 'target_unreachable' });
    expect(error.message).to.include('status 429').and.to.include('3600 s');
  });
});
