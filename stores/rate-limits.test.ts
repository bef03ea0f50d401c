import { expect } from 'chai';
import fc from 'fast-check';
import { createLocalLimits } from './rate-limits.ts';

const perKey = { policy: 'key', subject: 'k1', limit: 3, windowSeconds: 10 };
const perOrganisation = { policy: 'submissions', subject: 'acme', limit: 2, windowSeconds: 10 };

describe('local rate limits', () => {
  it('accepts up to the limit in a window, then denies with retryAfterSeconds', async () => {
    let now = 1_000_000;
    const limits = createLocalLimits(() => now);
    for (const [after, remaining] of [
      [0, 2],
      [4_000, 1],
      [1, 0],
    ] as const) {
      now += after;
      const { ok, states } = await limits.admit([perKey]);
      expect(ok).to.equal(true);
      expect(states[0]!.remaining).to.equal(remaining);
    }
    now += 1_000;
    const denied = await limits.admit([perKey]);
    // The first request arrived 5.001 s ago and leaves the window 10.001 s after its arrival.
    expect(denied).to.include({ ok: false, retryAfterSeconds: 5 });
    now += 4_999;
    expect((await limits.admit([perKey])).ok).to.equal(false);
    now += 1;
    expect((await limits.admit([perKey])).ok).to.equal(true);
    expect((await limits.admit([perKey])).ok).to.equal(false);
  });

  it('consumes nothing if one of two rules denies', async () => {
    const limits = createLocalLimits(() => 0);
    await limits.admit([perOrganisation]);
    await limits.admit([perOrganisation]);
    const denied = await limits.admit([perKey, perOrganisation]);
    expect(denied.ok).to.equal(false);
    expect(denied.states.map((state) => state.remaining)).to.deep.equal([3, 0]);
  });

  it('takes back the request that a refund names', async () => {
    const limits = createLocalLimits(() => 0);
    for (const hit of ['a', 'b']) await limits.admit([perOrganisation], { hit });
    await limits.refund([perOrganisation, perKey], 'a');
    expect((await limits.admit([perOrganisation])).ok).to.equal(true);
    expect((await limits.admit([perOrganisation])).ok).to.equal(false);
  });

  it('remembers 10,000 subjects, and forgets the one that was not used for the longest time', async () => {
    const limits = createLocalLimits(() => 0);
    const once = (subject: number) => limits.admit([{ ...perKey, subject: String(subject), limit: 1 }]);
    for (let subject = 0; subject < 10_000; subject += 1) await once(subject);
    expect((await once(0)).ok).to.equal(false);
    await once(10_000);
    expect((await once(0)).ok, 'used again before another was added').to.equal(false);
    expect((await once(1)).ok, 'forgotten').to.equal(true);
  });

  it('never accepts more than the limit in any window, and a request sent after Retry-After is accepted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 6_000 }), { minLength: 1, maxLength: 60 }), async (pauses) => {
        let now = 0;
        const limits = createLocalLimits(() => now);
        const accepted: number[] = [];
        for (const pause of pauses) {
          now += pause;
          const answer = await limits.admit([perKey]);
          if (answer.ok) accepted.push(now);
          else {
            now += answer.retryAfterSeconds * 1000;
            expect((await limits.admit([perKey])).ok).to.equal(true);
            accepted.push(now);
          }
        }
        for (const [index, time] of accepted.entries()) {
          const fourth = accepted[index + 3];
          if (fourth !== undefined) expect(fourth - time).to.be.above(10_000);
        }
      }),
    );
  });
});
