import { expect } from 'chai';
import fc from 'fast-check';
import { timestamp } from '../../platform/clock.ts';
import type { AccessibilityScan, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { NOW, ago, condition, scanWith } from '../../test/support/scan-samples.ts';
import { decideAdmission, waitingOrder } from './admission.ts';

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
const running = (scan: AccessibilityScan): AccessibilityScan => ({
  ...scan,
  status: {
    ...scan.status,
    phase: 'crawling',
    startTime: timestamp(NOW),
    conditions: [{ ...condition('Admitted', 'True', 'Admitted'), lastTransitionTime: timestamp(NOW) }],
  },
});
const decide = (scans: readonly AccessibilityScan[], queue: ScanQueue) =>
  decideAdmission({
    pauses: [],
    scans,
    queue,
    defaultMaxRunning: 2,
    taken: new Map(),
    lastAdmissions: new Map(),
    isLeftOut: () => false,
    now: NOW,
  });
const namesOf = (scans: readonly AccessibilityScan[]) => scans.map(({ metadata }) => metadata.name);
const orderOf = (scans: readonly AccessibilityScan[], queue: ScanQueue, max = 1000) => {
  const decision = decide(scans, queue);
  return namesOf(waitingOrder(decision, max));
};

describe('the waiting order', () => {
  it('starts with the organisation that has the fewest running scans, and is by priority and age within one', () => {
    const scans = [
      running(waiting('x', 'acme', 900)),
      running(waiting('y', 'acme', 900)),
      ...[1, 2, 3].map((index) => waiting(`a${index}`, 'acme', 100 - index)),
      waiting('a-urgent', 'acme', 1, 9),
      ...[1, 2].map((index) => waiting(`b${index}`, 'bolt', 50 - index)),
    ];
    expect(orderOf(scans, queueWith({}))).to.deep.equal(['b1', 'b2', 'a-urgent', 'a1', 'a2', 'a3']);
  });

  it('stops at the number of positions that are shown', () => {
    const scans = Array.from({ length: 50 }, (_, index) => waiting(`s${index}`, 'acme', 100 - index));
    expect(orderOf(scans, queueWith({ paused: true }), 3)).to.deep.equal(['s0', 's1', 's2']);
  });

  it('is shorter if thousands of organisations wait, because the operator waits for it', () => {
    const scans = Array.from({ length: 4_000 }, (_, index) => waiting(`s${index}`, `o${index}`, 5_000 - index));
    expect(orderOf(scans, queueWith({ paused: true }))).to.deep.equal(scans.slice(0, 50).map(({ metadata }) => metadata.name));
  });

  it('is the order in which the queue admits when places become free', () => {
    const spec = fc.record({ weights: fc.record({ a: fc.integer({ min: 1, max: 5 }) }, { requiredKeys: [] }) });
    const scan = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(500), fc.integer({ min: -2, max: 2 }));
    fc.assert(
      fc.property(spec, fc.array(scan, { maxLength: 25 }), (limits, drawn) => {
        const scans = drawn.map(([organisation, seconds, priority], index) => waiting(`s${index}`, organisation, seconds, priority));
        const most = scans.length + 1;
        const open = { maxRunning: most, maxRunningPerOrganisation: most, maxStartingPerOrganisation: most };
        expect(orderOf(scans, queueWith({ ...limits, paused: true }))).to.deep.equal(
          namesOf(decide(scans, queueWith({ ...limits, ...open })).admit),
        );
      }),
    );
  });
});
