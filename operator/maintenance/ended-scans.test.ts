import { expect } from 'chai';
import { contextOf } from '../../test/support/operator-context.ts';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { ago, scanWith } from '../../test/support/scan-samples.ts';
import { endedScansTask, endedInExcess } from './ended-scans.ts';

const ended = (name: string, seconds: number, organisation = 'acme', spec: object = { ttlSecondsAfterFinished: 3600 }, metadata = {}) =>
  scanWith(
    { phase: 'done', organisation, completionTime: ago(seconds) },
    { spec, metadata: { name, uid: name, finalizers: [], annotations: { 'curbcut.dev/scan-id': name }, ...metadata } },
  );
const excess = (scans: readonly AccessibilityScan[], keep: number) =>
  endedInExcess(scans, keep, 'curbcut').map(({ metadata }) => metadata.name);

describe('ended scans', () => {
  it('are removed beyond the limit of their organisation, oldest first', () => {
    const scans = [ended('b', 20), ended('d', 1), ended('a', 30), ended('c', 10), ended('x', 99, 'bolt'), ended('y', 98, 'bolt')];
    expect(excess(scans, 2)).to.deep.equal(['a', 'b']);
    expect(excess(scans, 4)).to.deep.equal([]);
    expect(excess(scans, 0)).to.have.length(6);
  });

  it('are kept if a manifest created them, or without a TTL', () => {
    expect(excess([ended('a', 1, 'acme', { ttlSecondsAfterFinished: 3600 }, { namespace: 'team' })], 0)).to.deep.equal([]);
    expect(excess([ended('a', 1, 'acme', { ttlSecondsAfterFinished: 3600 }, { annotations: {} })], 0)).to.deep.equal([]);
    expect(excess([ended('a', 1, 'acme', {})], 0)).to.deep.equal([]);
  });

  it('do not include scans that run, are not settled yet, or are being deleted', () => {
    const live = scanWith({ phase: 'crawling' }, { metadata: { annotations: { 'curbcut.dev/scan-id': 'l' } } });
    const unsettled = ended('u', 1, 'acme', { ttlSecondsAfterFinished: 1 }, { finalizers: ['curbcut.dev/settle'] });
    const leaving = ended('g', 1, 'acme', { ttlSecondsAfterFinished: 1 }, { deletionTimestamp: ago(1) });
    expect(excess([live, unsettled, leaving], 0)).to.deep.equal([]);
  });

  it('are removed although the API server refuses to delete one of them, which is reported', async () => {
    const removed: string[] = [];
    const task = endedScansTask(
      contextOf({
        scanClient: {
          list: () => [ended('a', 3), ended('b', 2), ended('c', 1)],
          async remove({ metadata }) {
            if (metadata.name === 'a') throw new Error('denied by a policy');
            removed.push(metadata.name);
          },
        },
        settings: { maxEndedPerOrganisation: 0 },
      }),
    );
    const failure = await task.run(new AbortController().signal).then(
      () => null,
      (error: unknown) => error,
    );
    expect(String(failure)).to.match(/1 ended scans could not be deleted: Error: denied by a policy/);
    expect(removed).to.deep.equal(['b', 'c']);
  });

  it('are removed one by one, until the lease is lost', async () => {
    const removed: string[] = [];
    const stopping = new AbortController();
    const task = endedScansTask(
      contextOf({
        scanClient: {
          list: () => [ended('a', 3), ended('b', 2), ended('c', 1)],
          async remove({ metadata }) {
            removed.push(metadata.name);
            if (removed.length === 2) stopping.abort();
          },
        },
        settings: { maxEndedPerOrganisation: 0 },
      }),
    );
    await task.run(stopping.signal).catch(() => undefined);
    expect(removed).to.deep.equal(['a', 'b']);
  });
});
