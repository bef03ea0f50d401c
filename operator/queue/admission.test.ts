import { expect } from 'chai';
import fc from 'fast-check';
import type { AccessibilityScan, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { NOW, ago, condition, scanWith } from '../../test/support/scan-samples.ts';
import { decideAdmission } from './admission.ts';

const waiting = (name: string, seconds: number, spec: object = {}): AccessibilityScan =>
  scanWith(
    { phase: 'queued', conditions: [condition('Admitted', 'False', 'Queued')] },
    { spec, metadata: { name, uid: name, creationTimestamp: ago(seconds) } },
  );
const running = (name: string): AccessibilityScan =>
  scanWith({ phase: 'queued', conditions: [condition('Admitted', 'True', 'Admitted')] }, { metadata: { name, uid: name } });
const over = (name: string): AccessibilityScan =>
  scanWith({ phase: 'done', conditions: [condition('Admitted', 'True', 'Admitted')] }, { metadata: { name, uid: name } });
const fresh = (name: string): AccessibilityScan => scanWith(undefined, { metadata: { name, uid: name } });
const queue = (spec: ScanQueue['spec']): ScanQueue => ({
  apiVersion: 'curbcut.dev/v1',
  kind: 'ScanQueue',
  metadata: { name: 'default' },
  spec,
});
const names = (scans: readonly AccessibilityScan[]) => scans.map(({ metadata }) => metadata.name);

describe('admission', () => {
  it('admits the oldest scans up to the free capacity', () => {
    const look = decideAdmission([waiting('c', 10), running('x'), waiting('a', 30), waiting('b', 20), over('y'), fresh('z')], null, 2, NOW);
    expect(names(look.admit)).to.deep.equal(['a']);
    expect(look.waiting.map(({ scan, message }) => [scan.metadata.name, message])).to.deep.equal([
      ['b', 'Next in line; waiting for a running scan to end.'],
      ['c', '1 scan is ahead of it.'],
    ]);
    expect(look).to.include({ queued: 2, running: 2, oldestWaitSeconds: 20, live: 5, paused: false });
  });

  it('admits no scan and reports the reason while the queue is paused', () => {
    const look = decideAdmission([waiting('a', 30), running('x')], queue({ paused: true, maxRunning: 9 }), 2, NOW);
    expect(look.admit).to.deep.equal([]);
    expect(look.waiting[0]).to.include({ reason: 'QueuePaused', message: 'The queue is paused; the scan waits until it is resumed.' });
    expect(look).to.include({ queued: 1, running: 1, paused: true });
  });

  it("uses the queue's maxRunning if it is set", () => {
    expect(names(decideAdmission([waiting('a', 2), waiting('b', 1)], queue({ maxRunning: 1 }), 5, NOW).admit)).to.deep.equal(['a']);
    expect(names(decideAdmission([waiting('a', 2), running('x'), running('y')], queue({ maxRunning: 1 }), 5, NOW).admit)).to.deep.equal([]);
  });

  it('skips scans that are canceled, being deleted or not vetted yet', () => {
    const deleted = waiting('b', 9);
    deleted.metadata.deletionTimestamp = ago(1);
    const look = decideAdmission([waiting('a', 9, { cancel: true }), deleted, fresh('c')], null, 5, NOW);
    expect(look).to.deep.include({ admit: [], waiting: [], queued: 0, live: 3 });
  });

  it('rounds the position of scans far back in the queue, so that one admission does not rewrite every status', () => {
    const line = Array.from({ length: 250 }, (_, index) => waiting(`s${String(index).padStart(3, '0')}`, 1000 - index));
    const before = decideAdmission([running('x'), ...line], null, 1, NOW).waiting;
    const after = decideAdmission([running('x'), ...line.slice(1)], null, 1, NOW).waiting;
    const changed = after.filter(({ message }, index) => message !== before[index + 1]!.message);
    expect(changed.length).to.be.at.most(22);
    expect(before[150]!.message).to.equal('More than 100 scans are ahead of it.');
  });

  it('fills all capacity, never exceeds it, and keeps the order', () => {
    const one = fc.tuple(fc.nat(500), fc.constantFrom('waiting', 'running', 'over', 'fresh'));
    fc.assert(
      fc.property(fc.array(one, { maxLength: 40 }), fc.integer({ min: 1, max: 12 }), fc.boolean(), (kinds, places, paused) => {
        const scans = kinds.map(([seconds, kind], index) =>
          kind === 'waiting'
            ? waiting(`s${index}`, seconds)
            : kind === 'running'
              ? running(`s${index}`)
              : kind === 'over'
                ? over(`s${index}`)
                : fresh(`s${index}`),
        );
        const look = decideAdmission(scans, queue({ maxRunning: places, paused }), 1, NOW);
        const had = kinds.filter(([, kind]) => kind === 'running').length;
        const line = kinds.filter(([, kind]) => kind === 'waiting').length;
        const expected = paused ? 0 : Math.min(line, Math.max(0, places - had));
        const order = [...look.admit, ...look.waiting.map(({ scan }) => scan)].map(({ metadata }) => metadata.creationTimestamp!);
        return (
          look.admit.length === expected &&
          look.queued === line - expected &&
          look.running === had + expected &&
          order.join() === order.toSorted().join()
        );
      }),
    );
  });
});
