import { expect } from 'chai';
import type { Visit, VisitRequest } from '../page/visit/visit.ts';
import { EVERY_WAIT } from './wait-history.ts';
import { createPoliteVisits, RATE_LIMITS } from './politeness.ts';

const request = (path: string): VisitRequest => ({
  url: new URL(path, 'https://a.test'),
  test: true,
  mayGoTo: () => null,
  plan: EVERY_WAIT,
  budgetMs: 15_000,
  largeBudgetMs: 15_000,
});
const failed = (status: number | null, more: Partial<Extract<Visit, { loaded: false }>> = {}): Visit => ({
  loaded: false,
  reason: status === null ? 'navigation_failed' : 'http_error',
  message: `Status ${status}.`,
  finalUrl: null,
  status,
  retryAfterMs: null,
  durationMs: 10,
  broken: false,
  ...more,
});
const LOADED = { loaded: true, durationMs: 10 } as Visit;

describe('visits', () => {
  let now: number;
  let asked: { path: string; at: number; budgetMs: number }[];
  beforeEach(() => {
    now = 1000;
    asked = [];
  });

  /** Sleeps end in the order of their times, each after everything that happened before it. */
  const sleepers: { until: number; wake: () => void }[] = [];
  function sleep(ms: number): Promise<void> {
    return new Promise((wake) => {
      sleepers.push({ until: now + ms, wake });
      setImmediate(() => {
        sleepers.sort((a, b) => a.until - b.until);
        const first = sleepers.shift();
        now = Math.max(now, first?.until ?? now);
        first?.wake();
      });
    });
  }

  /** @param answers the results of the visits, in order; the last one repeats */
  function visitor(answers: Visit[], options: { delayMs?: number; deadline?: number } = {}) {
    return createPoliteVisits({
      pool: {
        visit(_worker, { url, budgetMs }) {
          asked.push({ path: url.pathname, at: now, budgetMs });
          return Promise.resolve(answers[Math.min(asked.length, answers.length) - 1]!);
        },
      },
      crawlDelayMs: () => options.delayMs ?? 0,
      softDeadline: () => options.deadline ?? 10_000_000,
      clock: { monotonic: () => now, sleep },
    });
  }
  const times = (): number[] => asked.map(({ at }) => at);

  it('are repeated after Retry-After, with the whole budget of a page', async () => {
    const visit = visitor([failed(429, { retryAfterMs: 7000 }), failed(503, { retryAfterMs: 2000 }), LOADED]);
    expect(await visit(0, false, request('/a'))).to.deep.equal({ ...LOADED, durationMs: 30 });
    expect(times()).to.deep.equal([1000, 8000, 10_000]);
    expect(asked.map(({ budgetMs }) => budgetMs)).to.deep.equal([15_000, 15_000, 15_000]);
  });

  it('share a pause, also with a page of another worker that waits already, but not with another origin', async () => {
    const visit = visitor([LOADED, failed(429, { retryAfterMs: 5000 }), LOADED], { delayMs: 100 });
    await visit(0, false, request('/a'));
    await Promise.all([visit(0, false, request('/b')), visit(1, false, request('/c'))]);
    expect(asked.map(({ path }) => path)).to.have.members(['/a', '/b', '/b', '/c']);
    expect(
      times()
        .slice(2)
        .every((at) => at >= 6100),
    ).to.equal(true);
    const before = now;
    await visit(0, false, { ...request('/'), url: new URL('https://b.test/d') });
    expect(times().at(-1)).to.equal(before);
  });

  it('end as rate limited after bounded tries', async () => {
    const page = await visitor([failed(429)])(0, false, request('/a'));
    expect(page).to.deep.include({ loaded: false, reason: 'rate_limited', status: 429 });
    expect((page as { message: string }).message)
      .to.include(`after ${RATE_LIMITS.tries} requests`)
      .and.to.include('Curbcut');
    expect(asked).to.have.length(RATE_LIMITS.tries);
    expect(times()).to.deep.equal([1000, 2000, 4000, 8000, 16_000]);
  });

  it('end at once if the server asks for a long wait, and are not started after several of those', async () => {
    const visit = visitor([failed(429, { retryAfterMs: 3_600_000 })]);
    const pages = [];
    for (let page = 0; page < 8; page += 1) pages.push(await visit(0, false, request(`/${page}`)));
    expect(pages.map((page) => !page.loaded && page.reason)).to.deep.equal(Array(8).fill('rate_limited'));
    expect((pages[0] as { message: string }).message).to.include('asks to wait 3600 s');
    expect((pages[7] as { message: string }).message).to.include('was not requested');
    expect(asked).to.have.length(RATE_LIMITS.givenUpInRow);
    expect(now).to.equal(1000);
  });

  it('do not start after the deadline, and say why', async () => {
    const late = await visitor([LOADED], { deadline: 900 })(0, false, request('/a'));
    expect(late).to.include({ reason: 'timeout', message: 'The scan reached its deadline before this page was tested.' });
    expect(asked).to.deep.equal([]);
    const limited = await visitor([failed(429, { retryAfterMs: 30_000 })], { deadline: 20_000 })(0, false, request('/a'));
    expect(limited).to.include({ reason: 'rate_limited', status: 429 });
    expect((limited as { message: string }).message).to.include('deadline');
    expect(now).to.equal(1000);
  });

  it('that the deadline cuts short say so, and not that the page was slow', async () => {
    const timeout = (): Visit => failed(null, { reason: 'timeout', message: 'The page did not answer within 15 s.' });
    expect(await visitor([timeout()], { deadline: 1500 })(0, false, request('/a')))
      .to.have.property('message')
      .which.includes('reached its deadline');
    for (const deadline of [5000, undefined])
      expect(await visitor([timeout()], { deadline })(0, false, request('/a'))).to.have.property(
        'message',
        'The page did not answer within 15 s.',
      );
  });

  it('are repeated once after a status 503 without Retry-After', async () => {
    expect(await visitor([failed(503), LOADED])(0, false, request('/a'))).to.include({ loaded: true });
    asked = [];
    expect(await visitor([failed(503)])(0, false, request('/b'))).to.include({ reason: 'http_error', status: 503 });
    expect(asked).to.have.length(2);
  });

  it('are repeated once if the first page has no response, and not otherwise', async () => {
    const visit = visitor([failed(null)]);
    await visit(0, true, request('/'));
    expect(asked).to.have.length(2);
    await visit(0, false, request('/a'));
    expect(asked).to.have.length(3);
    await visitor([failed(404)])(0, true, request('/b'));
    expect(asked).to.have.length(4);
  });
});
