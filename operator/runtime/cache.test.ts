import { expect } from 'chai';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, WatchIdleError, type KubernetesConnection, type WatchEvent } from '../../platform/kubernetes/kubernetes.ts';
import { createFakeClock, settle } from '../../test/support/fake-clock.ts';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import { unobservedMetrics } from '../../test/support/unobserved-metrics.ts';
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

  /** A connection with scripted responses. The last watch stays open. */
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
    const kept = { count: 0 };
    const emitted: string[] = [];
    const connection = {
      path: () => '/things',
      async request(_method: string, _path: string, { query }: { query: Query }) {
        asked.push(query);
        const page = lists.shift() ?? expect.fail('unexpected list request');
        if (page instanceof Error) throw page;
        // List items have no kind.
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
        ...unobservedMetrics,
        watchKept: () => void (kept.count += 1),
        watchGivenUp: () => void (kept.count -= 1),
        watchRestarted: (_, reason) => void restarts.push(reason),
      },
      ...options,
    });
    cache.onChange(({ type, object, previous }) => {
      const before = previous ? ` was @${previous.metadata.resourceVersion}` : '';
      emitted.push(`${type} ${object.metadata.name}@${object.metadata.resourceVersion}${before}`);
    });
    const stop = new AbortController();
    stops.push(async () => {
      stop.abort();
      await cache.stopped;
    });
    return { cache, clock, logger, asked, watched, restarts, kept, emitted, start: () => cache.start(stop.signal) };
  }

  it('lists all pages of one snapshot and adds apiVersion and kind to each item', async () => {
    const { cache, asked, watched, emitted, start } = setUp(
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
    expect(emitted).to.deep.equal(['added a@1', 'added b@2', 'added c@3']);
    expect(cache.get('ns', 'a')).to.include({ apiVersion: 'v1', kind: 'Thing' });
    expect(watched[0]).to.deep.include({ resourceVersion: '9', allowWatchBookmarks: true });
  });

  it('lists without paging if the continue token has expired', async () => {
    const expired = new KubernetesError(410, 'Expired', 'the continue parameter is too old');
    const { cache, asked, emitted, start } = setUp(
      [{ items: ['a@1'], next: 'more' }, expired, { items: ['a@1', 'b@2'], version: '9' }],
      [],
    );
    start();
    await cache.synced;
    expect(asked[2]).to.deep.include({ limit: undefined, continue: undefined });
    expect(emitted).to.deep.equal(['added a@1', 'added b@2']);
  });

  it('resumes an ended watch from the last event or bookmark without listing again', async () => {
    const { watched, restarts, start } = setUp(
      [{ items: [], version: '1' }],
      [[event('ADDED', 'a@5'), event('BOOKMARK', '@8')], [event('MODIFIED', 'a@11')], [new WatchIdleError('/things', 1)]],
    );
    start();
    await settle();
    expect(watched.map(({ resourceVersion }) => resourceVersion)).to.deep.equal(['1', '8', '11']);
    expect(restarts).to.deep.equal(['closed', 'closed', 'idle']);
  });

  it('ends a watch before it counts as idle until a bookmark has arrived: Events have none, nor kinds that never changed', async () => {
    const { watched, start } = setUp(
      [{ items: [], version: '1' }],
      [[event('ADDED', 'a@5')], [event('BOOKMARK', '@8')], [event('ADDED', 'a@9')]],
      { idleMs: 90_000 },
    );
    start();
    await settle();
    const seconds = watched.map(({ timeoutSeconds }) => timeoutSeconds as number);
    for (const early of seconds.slice(0, 2)) expect(early).to.be.within(54, 81);
    for (const late of seconds.slice(2, 4)) expect(late).to.be.within(300, 600);
  });

  const gone = { type: 'ERROR' as const, object: { code: 410, reason: 'Expired', message: 'too old' } as unknown as KubernetesObject };
  for (const [how, watch] of [
    ['an ERROR event', [event('MODIFIED', 'a@2'), gone]],
    ['a 410 response', [event('MODIFIED', 'a@2'), new KubernetesError(410, 'Expired', 'too old')]],
  ] as const) {
    it(`lists again after ${how} for an expired version and emits the missed changes`, async () => {
      const { emitted, restarts, watched, start } = setUp(
        [
          { items: ['a@1', 'b@1', 'c@1'], version: '1' },
          { items: ['a@2', 'b@7', 'd@8'], version: '9' },
        ],
        [[...watch]],
      );
      start();
      await settle();
      expect(emitted.slice(3)).to.deep.equal(['modified a@2 was @1', 'deleted c@1 was @1', 'modified b@7 was @1', 'added d@8']);
      expect(restarts).to.deep.equal(['expired']);
      expect(watched.at(-1)).to.include({ resourceVersion: '9' });
    });
  }

  it('backs off while lists fail, logs it once, and honours Retry-After', async () => {
    const unreachable = new Error('ECONNREFUSED');
    const busy = new KubernetesError(429, 'TooManyRequests', 'busy', 60);
    const { cache, clock, asked, logger, start } = setUp(
      [unreachable, unreachable, unreachable, unreachable, busy, { items: ['a@1'], version: '1' }],
      [],
    );
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

  it('backs off if the server ends every watch at once or reports every version as expired', async () => {
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

  it('resets the failure count after a watch that received events', async () => {
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

  it('rejects synced if stopped before the first list, and starts only once', async () => {
    const { cache, clock, kept, start } = setUp(Array<Error>(20).fill(new Error('ECONNREFUSED')), []);
    start();
    expect(start).to.throw('already started');
    await clock.advance(3000);
    expect(kept.count).to.equal(1);
    await stops.pop()!();
    expect(kept.count).to.equal(0);
    expect(await cache.synced.catch(String)).to.contain('stopped before its first list');
  });
});
