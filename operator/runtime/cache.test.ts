import { expect } from 'chai';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, WatchIdleError, type KubernetesConnection, type WatchEvent } from '../../platform/kubernetes/kubernetes.ts';
import { createFakeClock, settle } from '../../test/support/fake-clock.ts';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import { createCache, type Cache, type CacheOptions } from './cache.ts';
import type { WatchRestart } from './metrics.ts';

type Query = Record<string, string | number | boolean | undefined>;
interface Page {
  items: string[];
  version?: string;
  next?: string;
}
/** `name@version`, as an object. */
function object(text: string): KubernetesObject {
  const [name, resourceVersion] = text.split('@') as [string, string];
  return { apiVersion: 'v1', kind: 'Thing', metadata: { name, namespace: 'ns', uid: name, resourceVersion } };
}
const event = (type: WatchEvent['type'], text: string) => ({ type, object: object(text) });

describe('cache', () => {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  /** A connection that answers by a script; the last watch of the script stays open. */
  function setUp(
    lists: (Page | Error)[],
    watches: (WatchEvent<KubernetesObject> | Error)[][],
    options: Partial<CacheOptions<KubernetesObject>> = {},
  ) {
    const clock = createFakeClock();
    const logger = createFakeLogger();
    const asked: Query[] = [];
    const watched: Query[] = [];
    const restarts: WatchRestart[] = [];
    const told: string[] = [];
    const connection = {
      path: () => '/things',
      async request(_method: string, _path: string, { query }: { query: Query }) {
        asked.push(query);
        const page = lists.shift() ?? expect.fail('one list too many');
        if (page instanceof Error) throw page;
        // Items of a list do not say their kind.
        const items = page.items.map(object).map(({ metadata }) => ({ metadata }));
        return { apiVersion: 'v1', kind: 'ThingList', metadata: { resourceVersion: page.version, continue: page.next }, items };
      },
      async *watch(_path: string, { query, signal }: { query: Query; signal: AbortSignal }) {
        watched.push(query);
        const script = watches.shift();
        for (const step of script ?? []) {
          if (step instanceof Error) throw step;
          yield step;
        }
        if (!script) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    } as unknown as KubernetesConnection;
    const cache: Cache<KubernetesObject> = createCache({
      connection,
      resource: { group: '', version: 'v1', plural: 'things' },
      logger,
      clock,
      random: () => 0.5,
      metrics: {
        reconciled() {},
        queueDepth() {},
        queueWaited() {},
        listed() {},
        leading() {},
        watchRestarted: (_, reason) => void restarts.push(reason),
      },
      ...options,
    });
    cache.onChange(({ type, object, previous }) => {
      const before = previous ? ` was @${previous.metadata.resourceVersion}` : '';
      told.push(`${type} ${object.metadata.name}@${object.metadata.resourceVersion}${before}`);
    });
    const stop = new AbortController();
    stops.push(async () => {
      stop.abort();
      await cache.stopped;
    });
    return { cache, clock, logger, asked, watched, restarts, told, start: () => cache.start(stop.signal) };
  }

  it('takes a list of many pages as of one moment, and says of each item what it is', async () => {
    const { cache, asked, watched, told, start } = setUp(
      [
        { items: ['a@1', 'b@2'], next: 'more' },
        { items: ['c@3'], version: '9' },
      ],
      [],
    );
    start();
    await cache.synced;
    await settle();
    expect(asked.map(({ limit, continue: next }) => [limit, next])).to.deep.equal([
      [500, undefined],
      [500, 'more'],
    ]);
    expect(told).to.deep.equal(['added a@1', 'added b@2', 'added c@3']);
    expect(cache.get('ns', 'a')).to.include({ apiVersion: 'v1', kind: 'Thing' });
    expect(watched[0]).to.deep.include({ resourceVersion: '9', allowWatchBookmarks: true, timeoutSeconds: 450 });
  });

  it('holds and tells of each object what it is told to keep', async () => {
    const event = { type: 'MODIFIED', object: object('a@2') } as WatchEvent<KubernetesObject>;
    const keep = (whole: KubernetesObject) => ({
      ...whole,
      metadata: { ...whole.metadata, labels: { kept: whole.metadata.resourceVersion! } },
    });
    const { cache, told, start } = setUp([{ items: ['a@1', 'b@1'], version: '1' }], [[event]], { keep });
    start();
    await cache.synced;
    await settle();
    expect(told).to.deep.equal(['added a@1', 'added b@1', 'modified a@2 was @1']);
    expect(cache.list().map(({ metadata }) => metadata.labels)).to.deep.equal([{ kept: '2' }, { kept: '1' }]);
  });

  it('takes all in one when the pages outlive their snapshot', async () => {
    const expired = new KubernetesError(410, 'Expired', 'the continue parameter is too old');
    const { cache, asked, told, start } = setUp([{ items: ['a@1'], next: 'more' }, expired, { items: ['a@1', 'b@2'], version: '9' }], []);
    start();
    await cache.synced;
    expect(asked[2]).to.deep.include({ limit: undefined, continue: undefined });
    expect(told).to.deep.equal(['added a@1', 'added b@2']);
  });

  it('goes on from the last event or bookmark when a watch ends, without a list', async () => {
    const { watched, restarts, start } = setUp(
      [{ items: [], version: '1' }],
      [[event('ADDED', 'a@5'), event('BOOKMARK', '@8')], [event('MODIFIED', 'a@11')], [new WatchIdleError('/things', 1)]],
    );
    start();
    await settle();
    expect(watched.map(({ resourceVersion }) => resourceVersion)).to.deep.equal(['1', '8', '11']);
    expect(restarts).to.deep.equal(['closed', 'closed', 'idle']);
  });

  const gone = { type: 'ERROR' as const, object: { code: 410, reason: 'Expired', message: 'too old' } as unknown as KubernetesObject };
  for (const [how, watch] of [
    ['an event', [event('MODIFIED', 'a@2'), gone]],
    ['a refusal', [event('MODIFIED', 'a@2'), new KubernetesError(410, 'Expired', 'too old')]],
  ] as const) {
    it(`lists anew when the version is gone, told by ${how}, and tells what it missed`, async () => {
      const { told, restarts, watched, start } = setUp(
        [
          { items: ['a@1', 'b@1', 'c@1'], version: '1' },
          { items: ['a@2', 'b@7', 'd@8'], version: '9' },
        ],
        [[...watch]],
      );
      start();
      await settle();
      expect(told.slice(3)).to.deep.equal(['modified a@2 was @1', 'deleted c@1 was @1', 'modified b@7 was @1', 'added d@8']);
      expect(restarts).to.deep.equal(['expired']);
      expect(watched.at(-1)).to.include({ resourceVersion: '9' });
    });
  }

  it('waits longer and longer while lists fail, says so once, and as long as the server asks', async () => {
    const away = new Error('ECONNREFUSED');
    const busy = new KubernetesError(429, 'TooManyRequests', 'busy', 60);
    const { cache, clock, asked, logger, start } = setUp([away, away, away, away, busy, { items: ['a@1'], version: '1' }], []);
    start();
    const at: number[] = [];
    for (let known = 0; asked.length < 6; await clock.advance(100)) {
      if (asked.length > known) at.push(clock.monotonic());
      known = asked.length;
    }
    at.push(clock.monotonic());
    await cache.synced;
    const waits = at.slice(1).map((time, i) => Math.round((time - at[i]!) / 800));
    // 5 s is the longest wait.
    expect(waits.slice(0, 4)).to.deep.equal([1, 2, 4, 6]);
    expect(at[5]! - at[4]!).to.be.at.least(60_000);
    expect(logger.lines.filter(({ level }) => level === 'warn').length).to.equal(1);
  });

  it('does not spin when the server ends each watch at once, or calls each version too old', async () => {
    const pages = Array.from({ length: 50 }, () => ({ items: [], version: '1' }));
    const closed = setUp(
      pages.slice(),
      Array.from({ length: 50 }, () => []),
    );
    closed.start();
    await closed.clock.advance(10_000);
    expect(closed.watched.length).to.be.within(3, 6);
    const expired = setUp(
      pages.slice(),
      Array.from({ length: 50 }, () => [gone]),
    );
    expired.start();
    await expired.clock.advance(10_000);
    expect(expired.asked.length).to.be.within(3, 6);
  });

  it('counts failures from the beginning after a watch that brought something', async () => {
    const cut = new Error('read ECONNRESET');
    const { clock, watched, logger, start } = setUp(
      [{ items: [], version: '1' }],
      Array.from({ length: 6 }, (_, i) => [event('ADDED', `a@${i + 2}`), cut]),
    );
    start();
    await clock.advance(6 * 800);
    expect(watched.length).to.equal(7);
    expect(logger.lines.filter(({ level }) => level === 'warn')).to.deep.equal([]);
  });

  it('repeats what it holds when a resync is asked for', async () => {
    const { clock, told, start } = setUp([{ items: ['a@1'], version: '1' }], [], { resyncMs: 60_000 });
    start();
    await clock.advance(120_000);
    expect(told).to.deep.equal(['added a@1', 'modified a@1 was @1', 'modified a@1 was @1']);
  });

  it('tells a late listener what is there, and nothing to one that has left', async () => {
    const { cache, start, told } = setUp([{ items: ['a@1'], version: '1' }], []);
    start();
    await cache.synced;
    const late: string[] = [];
    const leave = cache.onChange(({ type, object }) => late.push(`${type} ${object.metadata.name}`));
    expect(late).to.deep.equal(['added a']);
    leave();
    expect(told.length).to.equal(1);
  });

  it('is not ended by a listener that throws', async () => {
    const { cache, logger, told, start } = setUp([{ items: ['a@1', 'b@1'], version: '1' }], []);
    cache.onChange(() => {
      throw new Error('my fault');
    });
    start();
    await cache.synced;
    expect(told.length).to.equal(2);
    expect(logger.lines.filter(({ level }) => level === 'error').length).to.equal(2);
  });

  it('says that it was stopped before it knew anything, and starts once', async () => {
    const { cache, clock, start } = setUp(Array<Error>(20).fill(new Error('away')), []);
    start();
    expect(start).to.throw('started already');
    await clock.advance(3000);
    await stops.pop()!();
    expect(await cache.synced.catch(String)).to.contain('stopped before its first list');
  });
});
