import { expect } from 'chai';
import { API_VERSION, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import { NOW } from '../../test/support/scan-samples.ts';
import { misplacedChange } from './misplaced.ts';

const queue = (generation: number, status?: ScanQueue['status']): ScanQueue => ({
  apiVersion: API_VERSION,
  kind: 'ScanQueue',
  metadata: { name: 'lost', namespace: 'team', uid: 'u1', generation },
  spec: {},
  status,
});
/** The status that the operator of an installation writes; null if it writes none. */
function written(namespace: string, seen: ScanQueue): ScanQueue['status'] | null {
  const change = misplacedChange(seen, namespace, NOW);
  return change && ({ ...seen.status, ...change } as ScanQueue['status']);
}

describe('the status of a queue in a third namespace', () => {
  it('is written by one of two operators for each generation', () => {
    const first = written('curbcut-a', queue(1))!;
    expect(first.conditions!.map(({ type, status, reason }) => [type, status, reason])).to.deep.equal([
      ['Ready', 'False', 'WrongNamespace'],
      ['Stalled', 'True', 'WrongNamespace'],
    ]);
    for (const namespace of ['curbcut-a', 'curbcut-b']) expect(written(namespace, queue(1, first))).to.equal(null);
    const second = written('curbcut-b', queue(2, first))!;
    expect(second.conditions![0]!.message).to.include('curbcut-b');
    expect(second.observedGeneration).to.equal(2);
    expect(written('curbcut-a', queue(2, second))).to.equal(null);
  });
});
