/** Connections that break, never end, never begin or cannot be trusted: each page has an outcome with the right reason. */
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { makeCertificate } from '../../local/kube/credentials.ts';
import { answer, failureOf, FAULT, found, html, openSite, redirect, scan, testedOf, untested, type Route, type Site } from './site.ts';

const NO_ROBOTS = { include: [], exclude: [], sitemap: false, respectRobots: false, waitFor: '', settleMs: 0 };

const send = (response: ServerResponse, type: string): ServerResponse => response.writeHead(200, { 'content-type': type });

/** Sends a text again and again, as fast as the client reads. */
function endless(type: string, text: string): Route {
  return (_request, response) => {
    send(response, type);
    const chunk = text.repeat(Math.ceil(65_536 / text.length));
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', more);
    more();
  };
}

/** Sends a start, then a space every now and then. */
function drip(type: string, start: string): Route {
  return (_request, response) => {
    send(response, type).write(start);
    const timer = setInterval(() => response.write(' '), 100);
    response.on('close', () => clearInterval(timer));
  };
}

describe('network faults', () => {
  let site: Site;
  const open = async (bodies: Record<string, Route>): Promise<void> => {
    const links = Object.keys(bodies).filter((path) => !path.startsWith('/_'));
    site = await openSite({ '/': html(links.map((path) => `<p><a href="${path}">${path}</a></p>`).join('')), ...bodies });
  };
  afterEach(() => site?.close());

  it('do not make a part of a page the page', async () => {
    const half = `${html(FAULT).slice(0, -20)}${'<p>text</p>'.repeat(500)}`;
    await open({
      '/cut-chunks': (request, response) => {
        send(response, 'text/html').write(half);
        setTimeout(() => request.socket.destroy(), 100);
      },
      '/cut-length': (request, response) => {
        response.writeHead(200, { 'content-type': 'text/html', 'content-length': half.length + 100 }).write(half);
        setTimeout(() => request.socket.destroy(), 100);
      },
      '/drip': drip('text/html', half),
      '/silent': () => undefined,
      '/script-drip': html(`<script src="/_script-drip"></script>${FAULT}`),
      '/_script-drip': drip('text/javascript', '1;'),
    });
    const { pages } = await scan(`${site.origin}/`, {}, { pageBudgetMs: 15_000, workers: 2 });
    for (const path of ['/cut-chunks', '/cut-length']) {
      expect(untested(pages, path).reason, path).to.equal('navigation_failed');
      expect(untested(pages, path).message, path).to.include('before the whole page had arrived');
    }
    const drips = testedOf(pages).find(({ url }) => url.endsWith('/script-drip'));
    expect(drips && [found(drips), drips.caveats.map(({ kind }) => kind)]).to.deep.equal([['image-alt #fault'], ['requests_unanswered']]);
    expect(untested(pages, '/silent').message).to.equal('The page did not answer within 15 s.');
    // Its document is still arriving: what is there is tested, and the report says so.
    const dripping = testedOf(pages).find(({ url }) => url.endsWith('/drip'));
    expect(dripping?.caveats.map(({ kind }) => kind)).to.deep.equal(['still_loading']);
  });

  it('report a document that is too large', async () => {
    await open({ '/': endless('text/html', `<!--${'x'.repeat(60_000)}-->`) });
    const error = await failureOf(scan(`${site.origin}/`));
    expect(error.reason).to.equal('target_unreachable');
    expect(error.message).to.include('The page is larger than 32 MiB.');
  });

  it('of parts of a page do not keep the rest from being tested', async () => {
    const page = (title: string, part: string): string => html(`${FAULT}${part}`, { title });
    await open({
      '/frame-endless': page('frame endless', '<iframe title="frame" src="/_endless"></iframe>'),
      '/frame-cut': page('frame cut', '<iframe title="frame" src="/_cut"></iframe>'),
      '/image-drip': page('image drip', '<img alt="" src="/_image">'),
      '/fetch-endless': page('fetch endless', '<script>fetch("/_endless").then((answer) => answer.text())</script>'),
      '/_endless': endless('text/html', `<!--${'x'.repeat(60_000)}-->`),
      '/_cut': (request, response) => {
        send(response, 'text/html').write('<p>half a frame');
        setTimeout(() => request.socket.destroy(), 50);
      },
      '/_image': drip('image/png', 'PNG'),
    });
    const { pages } = await scan(`${site.origin}/`, {}, { pageBudgetMs: 20_000, workers: 2 });
    for (const page of pages.slice(1)) expect(found(page), page.url).to.include('image-alt #fault');
    expect(pages).to.have.length(5);
  }).timeout(180_000);

  it('have their own reason, whatever fails on the same host meanwhile', async () => {
    const pending: IncomingMessage[] = [];
    let hops = 0;
    await open({
      '/garbage': (request) => void pending.push(request),
      '/loop': (_request, response) => {
        hops += 1;
        response.writeHead(302, { location: '/loop' }).end();
        // The browser gives up after 20 redirects. Then the other page fails.
        if (hops >= 20) setImmediate(() => pending.splice(0).forEach(({ socket }) => socket.end('this is not HTTP\r\n\r\n')));
      },
    });
    const { pages } = await scan(`${site.origin}/`, {}, { workers: 2 });
    expect(untested(pages, '/garbage').message).to.include('not valid HTTP');
    expect(untested(pages, '/loop').message).to.include('keeps redirecting');
  });

  it('have reasons: redirect loops, closed connections, empty and invalid answers, wrong content types', async () => {
    const raw =
      (text: string): Route =>
      (request) =>
        void request.socket.end(text);
    await open({
      '/loop': redirect('/loop'),
      '/loop-of-two': redirect('/_loop'),
      '/_loop': redirect('/loop-of-two'),
      '/reset': (request) => request.socket.destroy(),
      '/empty': answer(200, {}, ''),
      '/empty-without-type': (_request, response) => void response.writeHead(200).end(),
      '/garbage': raw('this is not HTTP\r\n\r\n'),
      '/no-type': (_request, response) => void response.writeHead(200).end(`<!doctype html>${html(FAULT, { title: 'no type' })}`),
      '/text': answer(200, { 'content-type': 'text/plain' }, html('')),
      '/feed': answer(200, { 'content-type': 'application/rss+xml' }, '<rss/>'),
    });
    const { pages } = await scan(`${site.origin}/`);
    for (const path of ['/loop', '/loop-of-two']) {
      expect(untested(pages, path).reason, path).to.equal('navigation_failed');
      expect(untested(pages, path).message, path).to.include('keeps redirecting').and.to.include('TOO_MANY_REDIRECTS');
    }
    expect(untested(pages, '/reset')).to.include({ reason: 'navigation_failed' });
    expect(untested(pages, '/reset').message).to.include('closed the connection');
    expect(untested(pages, '/empty')).to.include({ reason: 'not_html', message: 'The server sent an empty document.' });
    expect(untested(pages, '/empty-without-type').reason).to.equal('not_html');
    expect(untested(pages, '/garbage').reason).to.equal('navigation_failed');
    for (const [path, type] of [
      ['/text', 'text/plain'],
      ['/feed', 'application/rss+xml'],
    ] as const)
      expect(untested(pages, path)).to.include({ reason: 'document', message: `The URL returns ${type}, not a web page.` });
    expect(found(pages.find(({ url }) => url.endsWith('/no-type')))).to.deep.equal(['image-alt #fault']);
  });

  describe('of TLS', () => {
    it('are explained: a certificate without a known authority', async () => {
      const { key, certificate } = makeCertificate(['127.0.0.1'], new Date());
      const server = createHttpsServer({ key, cert: certificate }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      try {
        for (const options of [{}, { crawl: NO_ROBOTS }]) {
          const { reason, message } = await failureOf(scan(url, options));
          expect(reason).to.equal('target_unreachable');
          expect(message).to.include('not signed by a known authority. Install a certificate');
        }
      } finally {
        server.closeAllConnections();
        server.close();
      }
    });

    it('are explained: a port that does not speak TLS', async () => {
      site = await openSite({ '/': html('') });
      for (const options of [{}, { crawl: NO_ROBOTS }])
        expect((await failureOf(scan(`https://127.0.0.1:${site.port}/`, options))).message).to.include('the TLS handshake failed');
    });
  });
});
