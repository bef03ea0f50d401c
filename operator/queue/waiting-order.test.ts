import { expect } from 'chai';
import fc from 'fast-check';
import { timestamp } from '../runtime/clock.ts';
import type { AccessibilityScan, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { NOW, ago, condition, scanWith } from '../../test/support/scan-samples.ts';
import { decideAdmission } from './admission.ts';
import { limitsOf } from './places.ts';
import { organisationOf } from './standing.ts';
import { waitingOrder } from './waiting-order.ts';

const queueWith = (spec: ScanQueue['spec']): ScanQueue => ({
  apiVersion: 'curbcut.dev/v1',
  kind: 'ScanQueue',
  metadata: { name: 'q' },
  spec,
});
const waiting = (name: string, organisation: string, seconds: number, priority = 0): AccessibilityScan =>
  scanWith(
    { phase: 'queued', organisation, conditions: [condition('Admitted', 'False', 'Queued')] },
    { spec: { priority }, metadata: { name, uid: name, creationTimestamp: ago(seconds) } },
  );
const running = (scan: AccessibilityScan, at = NOW): AccessibilityScan => ({
  ...scan,
  status: {
    ...scan.status,
    phase: 'crawling',
    startTime: timestamp(at),
    conditions: [{ ...condition('Admitted', 'True', 'Admitted'), lastTransitionTime: timestamp(at) }],
  },
});
const decide = (
  scans: readonly AccessibilityScan[],
  queue: ScanQueue,
  now = NOW,
  lastAdmissions: ReadonlyMap<string, number> = new Map(),
) => decideAdmission({ pauses: [], scans, queue, defaultMaxRunning: 2, taken: new Map(), lastAdmissions, now });
const namesOf = (scans: readonly AccessibilityScan[]) => scans.map(({ metadata }) => metadata.name);
const orderOf = (scans: readonly AccessibilityScan[], queue: ScanQueue, max = 1000) => {
  const decision = decide(scans, queue);
  return namesOf(waitingOrder({ ...decision, limits: limitsOf(queue, 2), max }));
};

describe('the waiting order', () => {
  it('alternates between organisations, and is by priority and age within one', () => {
    const scans = [
      running(waiting('x', 'acme', 900)),
      running(waiting('y', 'acme', 900)),
      ...[1, 2, 3].map((index) => waiting(`a${index}`, 'acme', 100 - index)),
      waiting('a-urgent', 'acme', 1, 9),
      ...[1, 2].map((index) => waiting(`b${index}`, 'bolt', 50 - index)),
    ];
    expect(orderOf(scans, queueWith({}))).to.deep.equal(['b1', 'a-urgent', 'b2', 'a1', 'a2', 'a3']);
  });

  it('is that of a paused queue when it is resumed', () => {
    const scans = [waiting('a', 'acme', 9), waiting('b', 'acme', 8)];
    expect(orderOf(scans, queueWith({ paused: true }))).to.deep.equal(['a', 'b']);
  });

  it('stops at the number of positions that are shown', () => {
    const scans = Array.from({ length: 50 }, (_, index) => waiting(`s${index}`, 'acme', 100 - index));
    expect(orderOf(scans, queueWith({ paused: true }), 3)).to.deep.equal(['s0', 's1', 's2']);
  });

  it('is shorter if thousands of organisations wait, because the operator waits for it', () => {
    const scans = Array.from({ length: 4_000 }, (_, index) => waiting(`s${index}`, `o${index}`, 5_000 - index));
    expect(orderOf(scans, queueWith({ paused: true }))).to.deep.equal(scans.slice(0, 50).map(({ metadata }) => metadata.name));
  });

  it('is the order in which the queue admits, if running scans end in the order of their admission', () => {
    const weight = fc.integer({ min: 1, max: 5 });
    const spec = fc.record(
      {
        maxRunning: fc.integer({ min: 1, max: 6 }),
        maxRunningPerOrganisation: fc.integer({ min: 1, max: 6 }),
        weights: fc.record({ a: weight, b: weight }, { requiredKeys: [] }),
      },
      { requiredKeys: ['maxRunning'] },
    );
    const scan = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(500), fc.integer({ min: -2, max: 2 }));
    fc.assert(
      fc.property(spec, fc.array(scan, { maxLength: 25 }), (limits, drawn) => {
        // The limit of starting scans is not simulated.
        const queue = queueWith({ ...limits, maxStartingPerOrganisation: limits.maxRunning });
        let scans = drawn.map(([organisation, seconds, priority], index) => waiting(`s${index}`, organisation, seconds, priority));
        const before = decide(scans, queue);
        const admitted = new Set(before.admit);
        scans = scans.map((one) => (admitted.has(one) ? running(one) : one));
        const again = decide(scans, queue, NOW, before.shares.lastAdmissions);
        const expected = namesOf(waitingOrder({ ...again, limits: limitsOf(queue, 2), max: 1000 }));

        const last = before.shares.lastAdmissions;
        let time = Math.max(NOW.getTime(), ...last.values());
        // As the simulation does: in turns between organisations, then in the order of admission.
        const ending = inTurns(scans.filter((one) => one.status?.startTime !== undefined));
        const order: string[] = [];
        while (order.length < expected.length) {
          const [next] = decide(scans, queue, NOW, last).admit;
          if (next === undefined) {
            const ended = ending.shift();
            if (ended === undefined) break;
            scans = scans.filter(({ metadata }) => metadata.name !== ended);
            continue;
          }
          last.set(organisationOf(next), (time += 1));
          order.push(next.metadata.name);
          ending.push(next.metadata.name);
          scans = scans.map((one) => (one === next ? running(one) : one));
        }
        expect(order).to.deep.equal(expected);
        expect(expected).to.have.length(drawn.length - admitted.size);
      }),
      { numRuns: 200 },
    );
  });
});

function inTurns(scans: readonly AccessibilityScan[]): string[] {
  const groups = [...Map.groupBy(scans, organisationOf).values()];
  const most = Math.max(0, ...groups.map((group) => group.length));
  return Array.from({ length: most }, (_, turn) => groups.flatMap((group) => group[turn]?.metadata.name ?? [])).flat();
}
