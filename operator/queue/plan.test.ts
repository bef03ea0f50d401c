import { expect } from 'chai';
import type { AccessibilityScan, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { NOW, ago, condition, scanWith, secondsAgo } from '../../test/support/scan-samples.ts';
import { planQueue, type QueueFacts } from './plan.ts';

const QUEUE: ScanQueue = { apiVersion: 'curbcut.dev/v1', kind: 'ScanQueue', metadata: { name: 'default', generation: 1 }, spec: {} };
const facts = (more: Partial<QueueFacts>): QueueFacts => ({
  name: 'default',
  scans: [],
  queue: QUEUE,
  pausedBefore: false,
  pauses: [],
  namespace: 'curbcut',
  defaultMaxRunning: 1,
  taken: new Map(),
  lastAdmissions: new Map(),
  isLeftOut: () => false,
  line: { mirrored: null, at: null },
  statusAt: null,
  unreadable: new Map(),
  organisationsReadable: null,
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

  it('states in scans that may not use the queue that they wait, and takes it back', () => {
    const closed = { ...QUEUE, spec: { allowedNamespaces: ['other'] } };
    const waits = planQueue(facts({ scans: line(1), queue: closed })).actions.filter((action) => action.do === 'explainWait');
    expect(waits.map(({ why }) => why.reason)).to.deep.equal(['QueueNotAllowed']);
    expect(done(facts({ scans: line(1), queue: closed, isLeftOut: () => true })), 'left out').not.to.include('explainWait');
    expect(done(facts({ scans: line(1, 'QueueNotAllowed') }))).to.include('admit');
  });

  it('keeps the pause of a ScanQueue that was deleted, and creates it paused', () => {
    const plan = planQueue(facts({ scans: line(3), queue: null, pausedBefore: true }));
    expect(plan.actions.filter((action) => action.do === 'admit')).to.deep.equal([]);
    expect(plan.actions.find((action) => action.do === 'create')).to.have.nested.property('queue.spec.paused', true);
    expect(done(facts({ scans: line(3), queue: null }))).to.include.members(['create', 'admit']);
  });

  it('creates the public ScanQueue too, and no other', () => {
    for (const [name, wanted] of [
      ['public', ['public']],
      ['nightly', []],
    ] as const) {
      const { actions } = planQueue(facts({ name, scans: line(1), queue: null }));
      expect(actions.flatMap((action) => (action.do === 'create' ? [action.queue.metadata.name] : []))).to.deep.equal(wanted);
    }
  });

  it('states whether Organisations are readable, as far as it is known', () => {
    const conditionsWith = (organisationsReadable: QueueFacts['organisationsReadable']) => {
      const write = planQueue(facts({ organisationsReadable })).actions.find((action) => action.do === 'writeStatus');
      return write?.status.conditions?.map(({ type, status }) => `${type} ${status}`);
    };
    expect(conditionsWith(null)).to.deep.equal(['NamespacesReadable True', 'Ready True', 'Stalled False']);
    const refused = { type: 'OrganisationsReadable', status: 'False' as const, reason: 'Unreadable', message: 'forbidden' };
    expect(conditionsWith(refused)).to.deep.equal([
      'NamespacesReadable True',
      'OrganisationsReadable False',
      'Ready True',
      'Stalled False',
    ]);
  });

  it('writes the status of the queue at most once a second, however many scans come and go', () => {
    expect(done(facts({ scans: line(3) }))).to.include('writeStatus');
    const soon = planQueue(facts({ scans: line(3), statusAt: secondsAgo(0.4) }));
    expect(soon.actions.map((action) => action.do)).not.to.include('writeStatus');
    expect(soon.wakeAfterMs).to.equal(600);
    expect(done(facts({ scans: line(3), statusAt: secondsAgo(1) }))).to.include('writeStatus');
  });

  it('writes status and positions also after the clock was set back', () => {
    const later = secondsAgo(-3600);
    const names = done(facts({ scans: line(3), statusAt: later, line: { mirrored: { waiting: 1, order: ['gone'] }, at: later } }));
    expect(names).to.include.members(['writeStatus', 'mirrorLine']);
  });

  describe('of a queue that does not exist', () => {
    const missing = (more: Partial<QueueFacts>) => facts({ name: 'nightly', queue: null, defaultMaxRunning: 9, ...more });

    it('admits nothing, creates nothing and states in the waiting scans that there is no such queue', () => {
      const plan = planQueue(missing({ scans: line(2) }));
      expect(plan.actions.map((action) => action.do))
        .to.include('explainWait')
        .and.not.include.members(['admit']);
      expect(plan.actions.map((action) => action.do)).not.to.include('create');
      const [first] = plan.actions.filter((action) => action.do === 'explainWait');
      expect(first?.why.reason).to.equal('QueueNotFound');
      expect(first?.why.message).to.match(/There is no ScanQueue nightly in namespace curbcut/);
      expect(done(missing({ scans: line(2, 'QueueNotFound') }))).not.to.include('explainWait');
    });

    it('takes the reason back and admits when the queue is created', () => {
      const created = { ...QUEUE, metadata: { name: 'nightly', generation: 1 } };
      const names = done(facts({ name: 'nightly', queue: created, scans: line(3, 'QueueNotFound') }));
      expect(names.filter((name) => name === 'admit' || name === 'explainWait')).to.deep.equal(['admit', 'explainWait', 'explainWait']);
    });

    it('shows no positions and is forgotten when no scan names it', () => {
      const mirrored = { waiting: 2, order: ['s0', 's1'] };
      const plan = planQueue(missing({ scans: line(2), line: { mirrored, at: secondsAgo(5) } }));
      expect(plan.actions.find((action) => action.do === 'mirrorLine')).to.deep.include({ line: { waiting: 0, order: [] }, changed: true });
      expect(planQueue(missing({}))).to.deep.equal({ actions: [{ do: 'forget' }], wakeAfterMs: null });
    });
  });

  describe('of positions', () => {
    const mirrorOf = (of: QueueFacts) => planQueue(of).actions.find((action) => action.do === 'mirrorLine');
    const mirrored = { waiting: 2, order: ['s0', 's1'], maxRunning: 1 };

    it('mirrors the IDs of waiting scans in the order of their admission, and their number', () => {
      expect(mirrorOf(facts({ scans: [running, ...line(2)] }))).to.deep.include({ line: mirrored, changed: true });
      const many = mirrorOf(facts({ scans: [running, ...line(1_200)] }));
      expect(many?.line.waiting).to.equal(1_200);
      expect(many?.line.order).to.have.length(1_000);
    });

    it('computes them at most every 5 s and writes them only if they changed', () => {
      const soon = facts({ scans: [running, ...line(3)], line: { mirrored, at: secondsAgo(4) } });
      expect(mirrorOf(soon)).to.equal(undefined);
      expect(planQueue(soon).wakeAfterMs).to.equal(1_000);
      expect(mirrorOf({ ...soon, line: { mirrored, at: secondsAgo(5) } })).to.have.property('changed', true);
      expect(mirrorOf({ ...soon, scans: [running, ...line(2)], line: { mirrored, at: secondsAgo(5) } })).to.have.property('changed', false);
    });

    it('removes them when no scan waits, and then has nothing to do', () => {
      expect(mirrorOf(facts({ line: { mirrored, at: secondsAgo(5) } }))).to.deep.include({ line: { waiting: 0, order: [] } });
      expect(mirrorOf(facts({ line: { mirrored: { waiting: 0, order: [] }, at: null } }))).to.equal(undefined);
    });

    it('shows those of a paused queue as if it were resumed', () => {
      const paused = { ...QUEUE, spec: { paused: true } };
      expect(mirrorOf(facts({ scans: line(2, 'QueuePaused'), queue: paused }))).to.deep.include({ line: mirrored });
    });
  });

  it('states the counts of the 20 organisations with the most waiting scans', () => {
    const scans = Array.from({ length: 25 }, (_, of) =>
      Array.from({ length: of + 1 }, (_, index) =>
        scanWith(
          { phase: 'queued', organisation: `o${of}`, conditions: [condition('Admitted', 'False', 'Queued')] },
          { metadata: { name: `${of}-${index}`, uid: `${of}-${index}` } },
        ),
      ),
    ).flat();
    const admitted = { ...running, status: { ...running.status, organisation: 'o24', startTime: undefined } };
    const write = planQueue(facts({ scans: [admitted, ...scans] })).actions.find((action) => action.do === 'writeStatus');
    expect(write?.status).to.include({ queued: 325, running: 1, starting: 1 });
    expect(write?.status.organisations).to.have.length(20);
    expect(write?.status.organisations?.[0]).to.deep.equal({ name: 'o24', queued: 25, running: 1, starting: 1 });
    expect(write?.status.organisations?.at(-1)).to.deep.equal({ name: 'o5', queued: 6, running: 0, starting: 0 });
  });
});
