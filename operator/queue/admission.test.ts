import { expect } from 'chai';
import fc from 'fast-check';
import type { AccessibilityScan, AccessibilityScanStatus, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { NOW, ago, condition, scanWith } from '../../test/support/scan-samples.ts';
import { byCreation, decideAdmission, type QueueDecision } from './admission.ts';
import { type Holder, limitsOf } from './places.ts';

const waiting = (name: string, seconds: number, organisation = 'acme', spec: object = {}): AccessibilityScan =>
  scanWith(
    { phase: 'queued', organisation, conditions: [condition('Admitted', 'False', 'Queued')] },
    { spec, metadata: { name, uid: name, creationTimestamp: ago(seconds) } },
  );
const admitted = (name: string, organisation: string, more: AccessibilityScanStatus): AccessibilityScan =>
  scanWith({ organisation, conditions: [condition('Admitted', 'True', 'Admitted')], ...more }, { metadata: { name, uid: name } });
const running = (name: string, organisation = 'acme') => admitted(name, organisation, { phase: 'crawling', startTime: ago(5) });
const starting = (name: string, organisation = 'acme') => admitted(name, organisation, { phase: 'queued' });
const over = (name: string) => admitted(name, 'acme', { phase: 'done', startTime: ago(5) });
const fresh = (name: string): AccessibilityScan => scanWith(undefined, { metadata: { name, uid: name } });
const queue = (spec: ScanQueue['spec']): ScanQueue => ({
  apiVersion: 'curbcut.dev/v1',
  kind: 'ScanQueue',
  metadata: { name: 'default' },
  spec,
});
const OPEN = queue({});
/** `waiting`: the scans that keep waiting, oldest first. */
const decide = (
  scans: AccessibilityScan[],
  of: ScanQueue | null,
  maxRunning: number,
  taken = new Map<string, Holder>(),
): QueueDecision & { waiting: AccessibilityScan[] } => {
  const decision = decideAdmission({
    pauses: [],
    scans,
    queue: of,
    defaultMaxRunning: maxRunning,
    taken,
    lastAdmissions: new Map(),
    isLeftOut: () => false,
    now: NOW,
  });
  return { ...decision, waiting: [...decision.lines.values()].flatMap((line) => line.rest()).toSorted(byCreation) };
};
const names = (scans: readonly AccessibilityScan[]) => scans.map(({ metadata }) => metadata.name);
const many = (count: number, name: string, organisation: string, seconds: number) =>
  Array.from({ length: count }, (_, index) => waiting(`${name}${index}`, seconds - index, organisation));

describe('admission', () => {
  it('leaves out scans whose Jobs could not be created until their back-off is over, and counts them as waiting', () => {
    const backingOff = (name: string, seconds: number) => {
      const scan = waiting(name, 30);
      return { ...scan, status: { ...scan.status, requeueState: { count: 1, requeueAt: ago(-seconds) } } };
    };
    const look = decide([backingOff('a', 5), waiting('b', 20), backingOff('c', 0)], OPEN, 4);
    expect(names(look.admit)).to.have.members(['b', 'c']);
    expect(names(look.backingOff)).to.deep.equal(['a']);
    expect(look).to.include({ queued: 1, oldestWaitSeconds: 30 });
    expect(look.organisations.get('acme')).to.include({ queued: 1, running: 2 });
  });

  it('admits only scans of the organisations and namespaces that may use the queue, and counts the others as waiting', () => {
    const scans = [waiting('a', 10, 'acme'), waiting('b', 20, 'bolt')];
    const look = decide(scans, queue({ allowedOrganisations: ['bolt'] }), 4);
    expect([names(look.admit), names(look.refused), look.queued, look.oldestWaitSeconds]).to.deep.equal([['b'], ['a'], 1, 0]);
    const { namespace } = scans[0]!.metadata;
    expect(names(decide(scans, queue({ allowedNamespaces: [namespace!] }), 4).admit)).to.deep.equal(['b', 'a']);
    expect(names(decide(scans, queue({ allowedNamespaces: ['elsewhere'] }), 4).refused)).to.have.members(['a', 'b']);
    expect(names(decide(scans, queue({ allowedNamespaces: [namespace!], allowedOrganisations: [] }), 4).admit)).to.deep.equal([]);
  });

  it('keeps the public queue for public scans, unless its ScanQueue names them', () => {
    const scans = [waiting('a', 10, 'acme'), waiting('b', 20, 'anonymous')];
    const publicQueue = { ...OPEN, metadata: { name: 'public' } };
    expect(names(decide(scans, publicQueue, 4).admit)).to.deep.equal(['b']);
    expect(names(decide(scans, { ...publicQueue, spec: { allowedOrganisations: ['acme'] } }, 4).admit)).to.deep.equal(['a']);
  });

  it('gives all places of the public queue to the scans of one organisation, before their pods have started', () => {
    const scans = many(4, 'a', 'anonymous', 60);
    const publicQueue = { ...OPEN, metadata: { name: 'public' } };
    expect(decide(scans, publicQueue, 2).admit).to.have.length(2);
    expect(decide(scans, { ...publicQueue, spec: { maxStartingPerOrganisation: 1 } }, 2).admit).to.have.length(1);
    expect(decide(scans, OPEN, 2).admit, 'in another queue').to.have.length(1);
  });

  it('skips scans that are canceled, being deleted or not vetted yet', () => {
    const deleted = waiting('b', 9);
    deleted.metadata.deletionTimestamp = ago(1);
    const look = decide([waiting('a', 9, 'acme', { cancel: true }), deleted, fresh('c')], OPEN, 5);
    expect(look).to.deep.include({ admit: [], waiting: [], queued: 0 });
  });

  it('counts a deleted scan until it is settled, not until foreign finalizers release it', () => {
    const settled = running('b');
    settled.metadata.deletionTimestamp = ago(1);
    expect(decide([settled], OPEN, 1)).to.include({ running: 1 });
    settled.metadata.finalizers = ['example.com/keep'];
    expect(decide([settled], OPEN, 1)).to.include({ running: 0 });
  });

  it('counts a scan whose admission is being written', () => {
    const look = decide([fresh('x'), waiting('a', 5)], OPEN, 1, new Map([['x', { organisation: 'acme', pods: 1 }]]));
    expect(look).to.deep.include({ admit: [], running: 1 });
  });

  it('gives the pods of a scan the places that no waiting scan can use, and counts each of them', () => {
    const big = waiting('a', 9, 'acme', { parallelism: 4, maxPages: 50 });
    expect(decide([big], OPEN, 5).pods).to.deep.equal(new Map([['a', 4]]));
    const look = decide([big, waiting('b', 5, 'bolt'), waiting('c', 4, 'bolt')], OPEN, 4);
    expect(look.pods).to.deep.equal(new Map([['a', 2]]));
    expect(look.running).to.equal(4);
    const alone = { parallelism: 4, maxPages: 50, crawl: { consent: 'reject' as const } };
    expect(decide([waiting('a', 9, 'acme', alone)], OPEN, 5).pods.size, 'a session').to.equal(0);
    expect(decide([admitted('x', 'acme', { phase: 'crawling', startTime: ago(5), pods: 3 }), big], OPEN, 3).admit).to.deep.equal([]);
  });

  describe('between organisations', () => {
    it('leaves each tenth place to others', () => {
      const spec = { maxStartingPerOrganisation: 99 };
      expect(decide(many(30, 'a', 'acme', 900), queue(spec), 20).admit).to.have.length(18);
      const look = decide([...many(30, 'a', 'acme', 900), ...many(30, 'b', 'bolt', 90)], queue(spec), 20);
      expect(look.admit).to.have.length(20);
      expect(decide(many(30, 'a', 'acme', 900), queue({ ...spec, maxRunningPerOrganisation: 20 }), 20).admit).to.have.length(20);
      const publicQueue = { ...queue(spec), metadata: { name: 'public' } };
      expect(decide(many(30, 'a', 'anonymous', 900), publicQueue, 20).admit).to.have.length(20);
    });

    it('ignores the label, which authors can change', () => {
      const forged = waiting('a', 90);
      forged.metadata.labels = { 'curbcut.dev/organisation': 'bolt' };
      expect(names(decide([running('x'), forged, waiting('b', 5, 'bolt')], OPEN, 2).admit)).to.deep.equal(['b']);
    });
  });

  const KINDS = { waiting, running: (name: string, _: number, of: string) => running(name, of), starting: (name: string, _: number, of: string) => starting(name, of), over, fresh }; // prettier-ignore
  const scan = fc.tuple(
    fc.nat(500),
    fc.constantFrom(...(Object.keys(KINDS) as (keyof typeof KINDS)[])),
    fc.constantFrom('a', 'b', 'c', 'd'),
  );
  const spec = fc.record(
    {
      paused: fc.boolean(),
      maxRunning: fc.integer({ min: 1, max: 12 }),
      maxRunningPerOrganisation: fc.integer({ min: 1, max: 12 }),
      maxStartingPerOrganisation: fc.integer({ min: 1, max: 12 }),
    },
    { requiredKeys: [] },
  );

  it('fills all capacity, never exceeds a limit, and keeps the order of each organisation', () => {
    fc.assert(
      fc.property(fc.array(scan, { maxLength: 40 }), spec, (kinds, limits) => {
        const scans = kinds.map(([seconds, kind, organisation], index) => KINDS[kind](`s${index}`, seconds, organisation));
        const look = decide(scans, queue(limits), 6);
        const { maxRunningPerOrganisation, maxStartingPerOrganisation, ...rest } = limitsOf(queue(limits), 6);
        const maxRunning = limits.paused === true ? 0 : rest.maxRunning;
        const count = (kind: string, of?: string) => kinds.filter(([, is, org]) => is === kind && (of ?? org) === org).length;
        const given = (of: string) => look.admit.filter(({ status }) => status!.organisation === of);
        expect(look.admit.length + look.queued).to.equal(count('waiting'));
        if (look.admit.length > 0) expect(look.running).to.be.at.most(maxRunning);
        for (const name of ['a', 'b', 'c', 'd']) {
          const [runs, starts] = [
            count('running', name) + count('starting', name) + given(name).length,
            count('starting', name) + given(name).length,
          ];
          const left = look.waiting.filter(({ status }) => status!.organisation === name);
          if (given(name).length > 0) {
            expect(runs).to.be.at.most(maxRunningPerOrganisation);
            expect(starts).to.be.at.most(maxStartingPerOrganisation);
          }
          // Each waiting organisation is stopped by a limit.
          if (left.length > 0)
            expect(look.running >= maxRunning || runs >= maxRunningPerOrganisation || starts >= maxStartingPerOrganisation).to.equal(true);
          const order = [...given(name), ...left].map(({ metadata }) => metadata.creationTimestamp!);
          expect(order).to.deep.equal(order.toSorted());
        }
      }),
    );
  });
});
