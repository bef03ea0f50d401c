import { setImmediate as settled } from 'node:timers/promises';
import { expect } from 'chai';
import { loadedVisit } from '../../test/support/loaded-visit.ts';
import { silentLogger } from '../../test/support/silent-logger.ts';
import type { Visit, VisitRequest } from '../page/visit/visit.ts';
import { HelperLost, type TeamLead } from '../team/lead.ts';
import { addressOf, targetOf } from './address.ts';
import { createDiscovery } from './listing.ts';
import { crawl, SPARE_WORKERS, type Crawl } from './crawl.ts';

const ORIGIN = 'https://a.test';

/** A visit that is in progress. */
interface Open {
  worker: number;
  waits(why: 'site' | 'rest' | null): void;
  end(): void;
  /** The helper that visits it is lost. */
  lose(): void;
}

/** Crawls a site whose first page links to `count` others: `/1`, `/2` and so on. Visits end when the test says so. */
async function start(count: number, workers: number, listed: string[] | null = null, helpers: TeamLead['helpers'] = () => []) {
  const names = Array.from({ length: count }, (_, at) => `/${at + 1}`);
  const started: string[] = [];
  const processed: string[] = [];
  const open = new Map<string, Open>();
  const stopping = new AbortController();
  function visit(worker: number, { url: { pathname }, test, onWaiting }: Pick<VisitRequest, 'url' | 'test' | 'onWaiting'>): Promise<Visit> {
    started.push(pathname);
    const { promise, resolve, reject } = Promise.withResolvers<Visit>();
    open.set(pathname, {
      worker,
      waits: (why) => onWaiting?.(why),
      end() {
        open.delete(pathname);
        const links = pathname === '/' ? names.map((name) => ORIGIN + name) : [];
        const visit = loadedVisit(new URL(pathname, ORIGIN), { links });
        resolve(test || !visit.loaded ? visit : { ...visit, findings: null });
      },
      lose() {
        open.delete(pathname);
        reject(new HelperLost('gone'));
      },
    });
    return promise;
  }
  const scan: Crawl = {
    input: { pagesReserved: 100, workers, pageBudgetMs: 1000, exportMaxBytes: 1e6 },
    site: {
      start: new URL(ORIGIN),
      signedIn: false,
      startInScope: listed === null,
      listed: () => listed?.map((path) => addressOf(new URL(path, ORIGIN))) ?? null,
      origin: () => new URL(ORIGIN),
      rules: () => ({ start: ORIGIN, origin: ORIGIN, own: null, further: [] }),
      targetOf: (link) => targetOf(link, new URL(ORIGIN)),
      isOwn: () => true,
      hosts: [],
      admit: () => Promise.resolve(null),
      hasRoutes: false,
      crawlDelayMs: () => 0,
      exclusionOf: () => null,
      refusal: () => null,
      moveTo: () => Promise.resolve(),
      sitemapPages: () => Promise.resolve({ pages: [], left: [], beyond: 0, named: createDiscovery(), cut: 0 }),
    },
    pool: { prepare: () => undefined, visit },
    team: {
      helpers,
      onChange: () => undefined,
      visit: (helper, slot, request) => visit(1000 * helper + slot, request),
      close: () => Promise.resolve(),
    },
    pictures: null,
    states: { kinds: [], counted: false },
    softDeadline: Infinity,
  };
  const log = { ...silentLogger, info: (fields: object) => void processed.push(new URL((fields as { url: string }).url).pathname) };
  const crawled = crawl(scan, { log, stop: stopping.signal });
  crawled.catch(() => undefined);
  await settled();
  const visitOf = (path: string): Open => {
    const visit = open.get(path);
    if (visit === undefined) throw new Error(`${path} is not in progress`);
    return visit;
  };
  return {
    started,
    processed,
    crawled,
    /** The pages at the end. */
    pages: () => crawled.then(({ pages }) => pages),
    /** The paths of the visits in progress. */
    inProgress: () => [...open.keys()],
    /** The workers of the visits in progress. */
    workers: () => [...open.values()].map(({ worker }) => worker),
    endTime: () => (scan.softDeadline = 0),
    stop: () => stopping.abort(new Error('canceled')),
    async lose(path: string): Promise<void> {
      visitOf(path).lose();
      await settled();
    },
    // The crawl reacts in promises only, all of which are done in the next turn of the event loop.
    async waits(path: string, why: 'site' | 'rest' | null): Promise<void> {
      visitOf(path).waits(why);
      await settled();
    },
    async end(...paths: string[]): Promise<void> {
      for (const path of paths) {
        visitOf(path).end();
        await settled();
      }
    },
    async endAll(): Promise<void> {
      for (let [path] = open.keys(); path !== undefined; [path] = open.keys()) {
        visitOf(path).end();
        await settled();
      }
    },
  };
}

describe('a crawl', () => {
  it('loads as many pages at once as it has workers, and the first one alone', async () => {
    const site = await start(9, 3);
    expect(site.inProgress()).to.deep.equal(['/']);
    await site.end('/');
    expect(site.inProgress()).to.deep.equal(['/1', '/2', '/3']);
    await site.end('/2');
    expect(site.inProgress()).to.deep.equal(['/1', '/3', '/4']);
    await site.endAll();
    expect(await site.pages()).to.have.length(10);
    expect(site.started).to.have.length(10);
  });

  it('visits pages with the helpers that are there, and itself those that they do not visit', async () => {
    const helpers = [{ index: 1, workers: 2 }];
    const site = await start(6, 1, null, () => helpers);
    await site.end('/');
    expect(site.workers()).to.deep.equal([0, 1000, 1001]);
    await site.lose('/2');
    expect(site.inProgress()).to.deep.equal(['/1', '/3', '/4']);
    helpers.pop();
    await site.end('/1');
    expect(site.inProgress()).to.deep.equal(['/3', '/4', '/2']);
    site.endTime();
    await site.lose('/3');
    await site.end('/2');
    await site.end('/4');
    expect(site.processed).to.deep.equal(['/', '/1', '/2', '/3', '/4']);
    expect((await site.pages()).map(({ tested }) => tested)).to.deep.equal([true, true, true, false, true, false, false]);
  });

  it('tests a list of addresses in its order, and nothing that links name', async () => {
    const list = ['/news/1', '/news/2', '/news/3', '/about'];
    const site = await start(9, 1, list);
    await site.endAll();
    expect(site.started).to.deep.equal(['/', ...list]);
    const { pages, addressesLeft } = await site.crawled;
    expect(pages.map(({ tested }) => tested)).to.deep.equal([false, true, true, true, true]);
    expect(pages[0]).to.include({ reason: 'excluded' });
    expect(addressesLeft).to.equal(0);
  });

  it('starts the next page in a tab of its own before the page of its only worker ends, if that waits for its site', async () => {
    const site = await start(3, 1);
    await site.end('/');
    expect(site.inProgress()).to.deep.equal(['/1']);
    await site.waits('/1', 'site');
    expect(site.inProgress()).to.deep.equal(['/1', '/2']);
    expect(new Set(site.workers())).to.have.property('size', 2);
    await site.end('/2');
    expect(site.inProgress()).to.deep.equal(['/1', '/3']);
    await site.endAll();
    expect(await site.pages()).to.have.length(4);
  });

  for (const why of ['site', 'rest'] as const)
    it(`loads at most ${SPARE_WORKERS[why]} pages more than it has workers, however many wait: ${why}`, async () => {
      for (const workers of [1, 2]) {
        const site = await start(20, workers);
        await site.end('/');
        for (let ended = 0; ended < 8; ended++) {
          for (let round = 0; round <= SPARE_WORKERS[why]; round++) for (const path of site.inProgress()) await site.waits(path, why);
          expect(site.inProgress()).to.have.length(workers + SPARE_WORKERS[why]);
          expect(new Set(site.workers())).to.have.property('size', workers + SPARE_WORKERS[why]);
          await site.end(site.inProgress()[0]!);
        }
        await site.endAll();
        expect(await site.pages()).to.have.length(21);
      }
    });

  it('starts no page for one that goes on, until fewer are in progress than there are workers', async () => {
    const site = await start(9, 2);
    await site.end('/');
    await site.waits('/1', 'site');
    expect(site.inProgress()).to.deep.equal(['/1', '/2', '/3']);
    await site.waits('/1', null);
    await site.end('/2');
    expect(site.inProgress()).to.deep.equal(['/1', '/3']);
    await site.end('/1');
    expect(site.inProgress()).to.deep.equal(['/3', '/4']);
    await site.endAll();
    expect(await site.pages()).to.have.length(10);
  });

  it('does not count a page as waiting that has ended', async () => {
    const site = await start(9, 2);
    await site.end('/');
    await site.waits('/1', 'site');
    await site.end('/1', '/2', '/3');
    expect(site.inProgress()).to.have.length(2);
    await site.endAll();
    await site.pages();
  });

  it('processes pages in their order, whenever their visits end', async () => {
    const site = await start(4, 2);
    await site.end('/');
    await site.waits('/1', 'site');
    await site.end('/3', '/2', '/4');
    expect(site.processed).to.deep.equal(['/']);
    await site.end('/1');
    expect(site.processed).to.deep.equal(['/', '/1', '/2', '/3', '/4']);
    expect((await site.pages()).map(({ url }) => new URL(url).pathname)).to.deep.equal(site.processed);
  });

  it('ends with the processed pages when it is stopped, without waiting for those in progress', async () => {
    const site = await start(9, 3);
    await site.end('/', '/1', '/3');
    site.stop();
    const { pages, stopped, addressesLeft } = await site.crawled;
    // The visit of /3 ended before that of /2, on which it would have depended.
    expect(pages.map(({ url }) => new URL(url).pathname)).to.deep.equal(['/', '/1']);
    expect(stopped).to.equal(true);
    expect(site.inProgress()).not.to.deep.equal([]);
    expect(addressesLeft, 'every address that was found is tested or counted').to.equal(10 - pages.length);
  });

  it('is complete if it is stopped after its last page', async () => {
    const site = await start(1, 2);
    await site.endAll();
    site.stop();
    expect(await site.crawled).to.include({ stopped: false });
  });

  it('starts no page for one that waits when its time is up', async () => {
    const site = await start(9, 2);
    await site.end('/');
    site.endTime();
    await site.waits('/1', 'site');
    expect(site.inProgress()).to.deep.equal(['/1', '/2']);
    await site.endAll();
    const pages = await site.pages();
    expect(pages.filter(({ tested }) => tested)).to.have.length(3);
    expect(pages.slice(3).map((page) => !page.tested && page.reason)).to.deep.equal(Array(7).fill('timeout'));
  });
});
