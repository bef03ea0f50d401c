import { expect } from 'chai';
import fc from 'fast-check';
import { createOriginPacing, RATE_LIMITS, type OriginPacing } from './politeness.ts';

const startOf = (pacing: OriginPacing, now: number): number => {
  const turn = pacing.turn(now);
  if (!turn.ok) throw new Error(turn.reason);
  return turn.at;
};

describe('pacing of an origin', () => {
  it('starts pages at once if nothing limits them', () => {
    const pacing = createOriginPacing(() => 0);
    expect([5, 5, 6].map((now) => startOf(pacing, now))).to.deep.equal([5, 5, 6]);
  });

  it('keeps the crawl delay between the starts of two pages, whatever the number of workers', () => {
    const pacing = createOriginPacing(() => 400);
    expect([5, 5, 5, 1000, 2000].map((now) => startOf(pacing, now))).to.deep.equal([5, 405, 805, 1205, 2000]);
  });

  it('pauses all pages for as long as the server asks, then starts them further apart', () => {
    const pacing = createOriginPacing(() => 0);
    expect(pacing.limited({ now: 100, startedAt: 50, tries: 1, askedMs: 7000 })).to.deep.equal({ again: true });
    expect([pacing.paused(7099), pacing.paused(7100)]).to.deep.equal([true, false]);
    expect([100, 100].map((now) => startOf(pacing, now))).to.deep.equal([7100, 7100 + RATE_LIMITS.firstSpacingMs]);
  });

  it('doubles the wait if the server names none, and slows down once for pages that were limited together', () => {
    const pacing = createOriginPacing(() => 0);
    for (const now of [100, 110, 120]) pacing.limited({ now, startedAt: 0, tries: 1, askedMs: null });
    const first = startOf(pacing, 120);
    expect(first).to.equal(120 + 2 * RATE_LIMITS.firstPauseMs);
    expect(startOf(pacing, 120)).to.equal(first + RATE_LIMITS.firstSpacingMs);
    pacing.limited({ now: first + 300, startedAt: first, tries: 2, askedMs: null });
    const second = startOf(pacing, first + 300);
    expect(second).to.equal(first + 300 + 2 * RATE_LIMITS.firstPauseMs);
    expect(startOf(pacing, second)).to.equal(second + 2 * RATE_LIMITS.firstSpacingMs);
  });

  it('speeds up again after pages without a limit', () => {
    const pacing = createOriginPacing(() => 0);
    pacing.limited({ now: 0, startedAt: 0, tries: 1, askedMs: 0 });
    for (let page = 0; page < 2 * RATE_LIMITS.recoverAfter; page += 1) pacing.served(page);
    startOf(pacing, 60_000);
    expect(startOf(pacing, 60_000)).to.equal(60_000);
  });

  it('gives a page up after its tries, a long wait, or long waits together', () => {
    const limited = { now: 0, startedAt: 0, tries: 1, askedMs: 1000 };
    expect(createOriginPacing(() => 0).limited({ ...limited, tries: RATE_LIMITS.tries })).to.deep.equal({ again: false, reason: 'tries' });
    expect(createOriginPacing(() => 0).limited({ ...limited, askedMs: RATE_LIMITS.pauseMs + 1 })).to.deep.equal({
      again: false,
      reason: 'pause_too_long',
    });
    const pacing = createOriginPacing(() => 0);
    let now = 0;
    for (; now < RATE_LIMITS.totalMs; now += RATE_LIMITS.pauseMs)
      expect(pacing.limited({ now, startedAt: now, tries: 1, askedMs: RATE_LIMITS.pauseMs })).to.deep.equal({ again: true });
    expect(pacing.limited({ now, startedAt: now, tries: 1, askedMs: 1 })).to.deep.equal({ again: false, reason: 'total' });
  });

  it('asks the server no more after pages that were given up in a row', () => {
    const pacing = createOriginPacing(() => 0);
    const giveUp = (times: number): void => {
      for (let page = 0; page < times; page += 1) pacing.limited({ now: 0, startedAt: 0, tries: 1, askedMs: 3_600_000 });
    };
    giveUp(RATE_LIMITS.givenUpInRow - 1);
    pacing.served(0);
    giveUp(RATE_LIMITS.givenUpInRow - 1);
    expect(pacing.turn(0)).to.deep.equal({ ok: true, at: 0 });
    giveUp(1);
    expect(pacing.turn(0)).to.deep.equal({ ok: false, reason: 'closed' });
  });

  it('learns nothing from a page that loads after a limit and started before it', () => {
    const pacing = createOriginPacing(() => 0);
    for (let page = 0; page < RATE_LIMITS.givenUpInRow; page += 1) {
      pacing.limited({ now: 100 + page, startedAt: 100, tries: 1, askedMs: 3_600_000 });
      pacing.served(99);
    }
    expect(pacing.turn(200)).to.deep.equal({ ok: false, reason: 'closed' });
  });

  it('never starts a page in a pause, nor two pages closer than the crawl delay', () => {
    const events = fc.array(
      fc.record({ after: fc.nat(2000), what: fc.constantFrom('turn', 'limited', 'served'), askedMs: fc.option(fc.nat(20_000)) }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(events, fc.nat(1000), (list, delayMs) => {
        const pacing = createOriginPacing(() => delayMs);
        let now = 0;
        let last = -Infinity;
        for (const { after, what, askedMs } of list) {
          now += after;
          if (what === 'served') pacing.served(now);
          else if (what === 'limited') pacing.limited({ now, startedAt: now, tries: 1, askedMs });
          else {
            const turn = pacing.turn(now);
            if (!turn.ok) return;
            expect(turn.at).to.be.at.least(Math.max(now, last + delayMs));
            expect(pacing.paused(turn.at)).to.equal(false);
            last = turn.at;
          }
        }
      }),
    );
  });
});
