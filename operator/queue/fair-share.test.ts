/** Simulated histories of a queue: no organisation starves, no limit is exceeded, shares follow the weights. */
import { expect } from 'chai';
import fc from 'fast-check';
import type { ScanQueueSpec } from '../../core/protocol/custom-resources.ts';
import { simulateQueue, type SimulatedQueue } from '../../test/support/simulated-queue.ts';

const ORGANISATIONS = ['acme', 'bolt', 'corp', 'dune'] as const;
const organisation = fc.constantFrom(...ORGANISATIONS);
const any = fc.nat(1000);
const limit = fc.integer({ min: 1, max: 6 });
const weight = fc.integer({ min: 1, max: 100 });
const spec: fc.Arbitrary<ScanQueueSpec> = fc.record(
  {
    paused: fc.boolean(),
    maxRunning: limit,
    maxRunningPerOrganisation: limit,
    maxStartingPerOrganisation: limit,
    weights: fc.record({ acme: weight, bolt: weight }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

/** `failOver` is told apart, because each one may cost an organisation its turn once. */
type Step = { failOver: boolean; run: (queue: SimulatedQueue) => void };
const step = (run: Step['run']): Step => ({ failOver: false, run });
const steps: fc.Arbitrary<Step>[] = [
  fc
    .tuple(organisation, fc.integer({ min: -3, max: 3 }), fc.constantFrom('now' as const, 'later' as const))
    .map(([of, priority, lands]) => step((queue) => queue.submit(of, priority, lands))),
  fc.constant(step((queue) => queue.plan())),
  any.map((which) => step((queue) => queue.start(which))),
  fc.tuple(any, fc.boolean()).map(([which, kept]) => step((queue) => queue.end(which, kept))),
  any.map((which) => step((queue) => queue.remove(which))),
  spec.map((to) => step((queue) => queue.configure(to))),
  fc.nat(3000).map((ms) => step((queue) => queue.tick(ms))),
  fc.tuple(fc.nat(2), fc.nat(3)).map(([writes, landed]) => ({
    failOver: true,
    run(queue) {
      queue.plan(writes);
      queue.failOver(landed);
    },
  })),
];
/** A plan of which the last writes meet a conflict. Their places stay reserved until the next plan. */
const interrupted = fc.nat(2).map((writes) => step((queue) => queue.plan(writes)));
const [submit, plan, start, end] = steps as [fc.Arbitrary<Step>, fc.Arbitrary<Step>, fc.Arbitrary<Step>, fc.Arbitrary<Step>];
// Submissions, plans, starts and ends are most of a queue's life.
const historyOf = (...more: fc.Arbitrary<Step>[]) =>
  fc.array(fc.oneof(submit, submit, submit, plan, plan, start, end, ...steps, ...more), { minLength: 50, maxLength: 150 });

describe('a queue over time', () => {
  it('never admits beyond a limit, over restarts, replicas, lost writes, pauses, deletions and changed limits', () => {
    fc.assert(
      fc.property(historyOf(interrupted), (taken) => {
        const queue = simulateQueue();
        for (const { run } of taken) {
          const before = queue.admissions.length;
          run(queue);
          const fresh = queue.admissions.slice(before);
          if (fresh.length === 0) continue;
          const { limits } = queue;
          const running = ORGANISATIONS.map((of) => queue.running(of));
          expect(running.reduce((sum, own) => sum + own)).to.be.at.most(limits.maxRunning);
          for (const { organisation: of } of fresh) {
            expect(queue.running(of)).to.be.at.most(limits.maxRunningPerOrganisation);
            expect(queue.starting(of)).to.be.at.most(limits.maxStartingPerOrganisation);
          }
          expect(queue.paused).to.equal(false);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('starves no organisation: while one waits and none of its scans runs, each other goes first at most once per term of a leader', () => {
    fc.assert(
      fc.property(historyOf(), (taken) => {
        const queue = simulateQueue();
        const isIdle = (of: string) => queue.waiting(of) > 0 && queue.running(of) === 0;
        /** By idle organisation: the terms of leaders since it waits, and how often each other was admitted by a plan. */
        const idle = new Map<string, { terms: number; overtaken: Map<string, number> }>();
        let idleAfterPlan: string[] = [];
        for (const { failOver, run } of taken) {
          for (const of of ORGANISATIONS) {
            if (!isIdle(of)) idle.delete(of);
            else if (!idle.has(of)) idle.set(of, { terms: 1, overtaken: new Map() });
          }
          const before = queue.admissions.length;
          run(queue);
          const fresh = queue.admissions.slice(before);
          if (failOver) for (const one of idle.values()) one.terms += 1;
          // The gate has no place left for anyone.
          if (fresh.some(({ by }) => by === 'gate')) expect(idleAfterPlan.filter((of) => idle.has(of) && isIdle(of))).to.deep.equal([]);
          for (const { organisation: admitted } of fresh.filter(({ by }) => by === 'plan'))
            for (const [of, { terms, overtaken }] of idle) {
              if (admitted === of) idle.delete(of);
              else {
                overtaken.set(admitted, (overtaken.get(admitted) ?? 0) + 1);
                expect(overtaken.get(admitted), `${admitted} before ${of}`).to.be.at.most(terms);
              }
            }
          if (fresh.some(({ by }) => by === 'plan')) idleAfterPlan = ORGANISATIONS.filter(isIdle);
          if (failOver) idleAfterPlan = [];
          // One that got a place since, and lost it, waits for the next plan.
          idleAfterPlan = idleAfterPlan.filter(isIdle);
        }
      }),
      { numRuns: 250 },
    );
  });

  it('gives each organisation its share by weight, within one place, while all have waiting scans', () => {
    const weights = fc.record({ acme: fc.integer({ min: 1, max: 5 }), bolt: fc.integer({ min: 1, max: 5 }), corp: fc.constant(1) });
    fc.assert(
      fc.property(
        weights,
        fc.integer({ min: 1, max: 4 }),
        fc.nat(5),
        fc.array(any, { minLength: 40, maxLength: 40 }),
        (shares, times, more, ends) => {
          const names = Object.keys(shares) as (keyof typeof shares)[];
          const total = names.reduce((sum, of) => sum + shares[of], 0);
          const places = times * total + more;
          const queue = simulateQueue();
          queue.configure({ paused: true });
          for (const of of names) for (let index = 0; index < places + ends.length; index += 1) queue.submit(of, 0, 'now');
          queue.configure({ maxRunning: places, maxStartingPerOrganisation: places, weights: shares });
          for (const which of [null, ...ends]) {
            if (which !== null) queue.end(which, false);
            queue.plan();
            const running = (of: (typeof names)[number]) => queue.starting(of);
            for (const of of names) {
              expect(running(of)).to.be.at.most(Math.floor((places * shares[of]) / total) + 1);
              if (more === 0) expect(running(of)).to.equal(times * shares[of]);
              // No other organisation has less for its weight than this one had before its last admission.
              for (const other of names) expect((running(of) - 1) * shares[other]).to.be.at.most(running(other) * shares[of]);
            }
          }
        },
      ),
      { numRuns: 20 },
    );
  });
});
