import { expect } from 'chai';
import { conditionOf, readiness, withConditions, type Conditioned } from './conditions.ts';

const NOW = new Date('2026-03-02T10:00:00.789Z');
const EARLIER = '2026-03-02T09:00:00Z';

/** A Widget at generation 4 that became ready an hour ago. */
const widget: Conditioned = {
  metadata: { name: 'w', generation: 4 },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Assembled', message: 'It is ready.', lastTransitionTime: EARLIER, observedGeneration: 3 },
      { type: 'Audited', status: 'False', reason: 'Waiting', message: 'Not yet.', lastTransitionTime: EARLIER, observedGeneration: 3 },
    ],
  },
};

describe('conditions', () => {
  it('keeps the transition time while the status stays the same', () => {
    const conditions = withConditions(widget, [{ type: 'Ready', status: 'True', reason: 'Repaired', message: 'Fixed.' }], NOW);
    expect(conditionOf(conditions, 'Ready')).to.deep.equal({
      type: 'Ready',
      status: 'True',
      reason: 'Repaired',
      message: 'Fixed.',
      lastTransitionTime: EARLIER,
      observedGeneration: 4,
    });
  });

  it('updates the transition time when the status changes', () => {
    const conditions = withConditions(widget, [{ type: 'Ready', status: 'False', reason: 'Broken', message: 'A part is missing.' }], NOW);
    expect(conditionOf(conditions, 'Ready')).to.include({ status: 'False', lastTransitionTime: '2026-03-02T10:00:00Z' });
  });

  it('keeps other conditions unchanged and sorts by type', () => {
    const conditions = withConditions(widget, [{ type: 'Painted', status: 'Unknown', reason: 'Pending', message: '' }], NOW);
    expect(conditions.map(({ type }) => type)).to.deep.equal(['Audited', 'Painted', 'Ready']);
    expect(conditionOf(conditions, 'Audited')).to.equal(widget.status?.conditions?.[1]);
  });

  it('adds conditions to an object without a status', () => {
    const conditions = withConditions({ metadata: { name: 'new' } }, [{ type: 'Ready', status: 'False', reason: 'New', message: '' }], NOW);
    expect(conditions).to.have.length(1);
    expect(conditions[0]).to.include({ lastTransitionTime: '2026-03-02T10:00:00Z' });
    expect(conditionOf(undefined, 'Ready')).to.equal(undefined);
  });

  it('state in three ways whether a resource is ready, in messages that the API server accepts', () => {
    const conditions = readiness({ ready: 'False', stalled: true, reason: 'Taken', message: 'x'.repeat(5000) });
    expect(conditions.map(({ type, status }) => `${type}=${status}`)).to.deep.equal(['Ready=False', 'Reconciling=False', 'Stalled=True']);
    for (const { message } of conditions) expect(message).to.equal(`${'x'.repeat(4095)}…`);
  });
});
