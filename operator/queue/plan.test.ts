import { expect } from 'chai';
import type { AccessibilityScan, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { NOW, ago, condition, scanWith, secondsAgo } from '../../test/support/scan-samples.ts';
import { planQueue, type QueueFacts } from './plan.ts';

const QUEUE: ScanQueue = { apiVersion: 'curbcut.dev/v1', kind: 'ScanQueue', metadata: { name: 'default', generation: 1 }, spec: {} };
const facts = (more: Partial<QueueFacts>): QueueFacts => ({
  scans: [],
  queue: QUEUE,
  pausedBefore: false,
  namespace: 'curbcut',
  defaultMaxRunning: 1,
  taken: new Map(),
  mirrored: null,
  statusAt: null,
  unreadable: new Map(),
  everyMs: 10_000,
  now: NOW,
  ...more,
});
const running = scanWith(
  { phase: 'crawling', startTime: ago(5), conditions: [condition('Admitted', 'True', 'Admitted')] },
  { metadata: { name: 'x', uid: 'x' } },
);
const line = (count: number, reason = 'Queued'): AccessibilityScan[] =>
  Array.from({ length: count }, (_, index) =>
    scanWith(
      { phase: 'queued', organisation: 'acme', conditions: [condition('Admitted', 'False', reason)] },
      { metadata: { name: `s${index}`, uid: `s${index}`, creationTimestamp: ago(1000 - index) } },
    ),
  );
const done = (of: QueueFacts) => planQueue(of).actions.map((action) => action.do);

describe('the plan of the queue', () => {
  it('writes nothing to waiting scans when a scan leaves the queue', () => {
    const scans = line(500);
    expect(done(facts({ scans: [running, ...scans] }))).not.to.include('explainWait');
    expect(done(facts({ scans })).filter((name) => name === 'admit' || name === 'explainWait')).to.deep.equal(['admit']);
  });

  it('states a pause in waiting scans, some at a time, and takes it back', () => {
    const paused = { ...QUEUE, spec: { paused: true } };
    const plan = planQueue(facts({ scans: line(60), queue: paused }));
    expect(plan.actions.filter((action) => action.do === 'explainWait')).to.have.length(50);
    expect(plan.wakeAfterMs).to.equal(200);
    expect(done(facts({ scans: line(60, 'QueuePaused'), queue: paused }))).not.to.include('explainWait');
    expect(done(facts({ scans: [running, ...line(3, 'QueuePaused')] })).filter((name) => name === 'explainWait')).to.have.length(3);
  });

  it('keeps the pause of a ScanQueue that was deleted, and creates it paused', () => {
    const plan = planQueue(facts({ scans: line(3), queue: null, pausedBefore: true }));
    expect(plan.actions.filter((action) => action.do === 'admit')).to.deep.equal([]);
    expect(plan.actions.find((action) => action.do === 'create')).to.have.nested.property('queue.spec.paused', true);
    expect(plan.actions.find((action) => action.do === 'mirror')).to.have.nested.property('state.paused', true);
    expect(done(facts({ scans: line(3), queue: null }))).to.include.members(['create', 'admit']);
  });

  it('writes the status of the queue at most once a second, however many scans come and go', () => {
    expect(done(facts({ scans: line(3) }))).to.include('writeStatus');
    const soon = planQueue(facts({ scans: line(3), statusAt: secondsAgo(0.4) }));
    expect(soon.actions.map((action) => action.do)).not.to.include('writeStatus');
    expect(soon.wakeAfterMs).to.equal(600);
    expect(done(facts({ scans: line(3), statusAt: secondsAgo(1) }))).to.include('writeStatus');
  });
});
