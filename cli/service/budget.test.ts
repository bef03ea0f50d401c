import { expect } from 'chai';
import fc from 'fast-check';
import { createBudget, createWatchdog } from './budget.ts';

describe('budget', () => {
  it('counts failed requests and the waits between them, but not a request that succeeds', () => {
    let at = 0;
    const budget = createBudget(60, () => at);
    budget.start();
    at += 5_000;
    budget.count(); // a failed request of 5 s
    at += 10_000;
    budget.count(); // a wait of 10 s
    budget.start();
    at += 3_000;
    expect(budget.left()).to.equal(42);
    budget.served();
    at += 3_600_000; // the scan runs
    expect(budget.left()).to.equal(45);
    expect(budget.used()).to.equal(15);
  });

  it('gives each step its limit, or a share of what is left', () => {
    let at = 0;
    const budget = createBudget(60, () => at);
    expect(budget.limit(30_000)).to.equal(30_000);
    budget.start();
    at += 50_000;
    expect(budget.limit(30_000)).to.equal(10_000);
    expect(budget.limit(30_000, 0.5)).to.equal(5_000);
    at += 50_000;
    expect(budget.left()).to.equal(0);
    expect(budget.limit(30_000)).to.equal(1);
    expect(createBudget(0, () => at).limit(30_000)).to.equal(30_000);
  });

  it('never allows more failed steps in sequence than its time, whatever their order', () =>
    fc.assert(
      fc.property(fc.array(fc.record({ takes: fc.nat(40_000), served: fc.boolean() }), { maxLength: 60 }), (steps) => {
        let at = 0;
        let failed = 0;
        const budget = createBudget(60, () => at);
        for (const { takes, served } of steps) {
          if (budget.left() === 0) break;
          budget.start();
          const spent = Math.min(takes, budget.limit(30_000));
          at += spent;
          if (served) budget.served();
          else {
            failed += spent;
            budget.count();
          }
        }
        expect(failed).to.be.at.most(60_001); // a step has at least 1 ms
        expect(budget.used() * 1000).to.be.closeTo(failed, 1);
      }),
    ));
});

describe('watchdog', () => {
  it('aborts with a time-out, and not if it was stopped', async () => {
    const [barks, stopped] = [createWatchdog(1), createWatchdog(1)];
    stopped.stop();
    await new Promise((resolve) => barks.signal.addEventListener('abort', resolve));
    expect(barks.signal.reason).to.have.property('name', 'TimeoutError');
    expect(stopped.signal.aborted).to.equal(false);
  });
});
