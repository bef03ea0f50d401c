import { expect } from 'chai';
import type { AccessibilityScanStatus } from '../../core/protocol/custom-resources.ts';
import { ago, condition, NOW, scanWith } from '../../test/support/scan-samples.ts';
import { createPhaseTracker, type PhaseChange } from './metrics.ts';

describe('phase tracker', () => {
  const admitted: AccessibilityScanStatus = { phase: 'queued', conditions: [condition('Admitted', 'True', 'Admitted', 30)] };
  const in_ = (phase: AccessibilityScanStatus['phase']): AccessibilityScanStatus => ({ ...admitted, phase });

  function follow() {
    const moves: PhaseChange[] = [];
    let at = NOW.getTime();
    const stages = createPhaseTracker({ now: () => new Date(at), onChange: (change) => moves.push(change) });
    return { ...stages, moves, later: (seconds: number) => void (at += seconds * 1000) };
  }

  it('measures the time in each phase from creation to end', () => {
    const { seen, moves, later } = follow();
    seen(scanWith(undefined, { metadata: { creationTimestamp: ago(4) } }));
    for (const status of [admitted, in_('crawling'), in_('crawling'), in_('generating'), in_('done'), in_('done')]) {
      later(2);
      seen(scanWith(status));
    }
    expect(moves).to.deep.equal([
      { from: null, to: 'queued', seconds: null },
      { from: 'queued', to: 'starting', seconds: 6 },
      { from: 'starting', to: 'crawling', seconds: 2 },
      { from: 'crawling', to: 'generating', seconds: 4 },
      { from: 'generating', to: null, seconds: 2 },
    ]);
  });

  it('reports no duration for a phase whose start it has not seen', () => {
    const { seen, gone, moves, later } = follow();
    seen(scanWith(in_('scanning')));
    later(5);
    gone(scanWith(in_('scanning')));
    gone(scanWith(in_('scanning')));
    expect(moves).to.deep.equal([
      { from: null, to: 'scanning', seconds: null },
      { from: 'scanning', to: null, seconds: null },
    ]);
  });

  it('measures starting from the admission time and ignores ended scans', () => {
    const { seen, moves } = follow();
    seen(scanWith(in_('failed'), { metadata: { uid: 'other' } }));
    seen(scanWith(admitted));
    seen(scanWith(in_('crawling')));
    expect(moves.at(-1)).to.deep.equal({ from: 'starting', to: 'crawling', seconds: 30 });
    expect(moves).to.have.length(2);
  });
});
