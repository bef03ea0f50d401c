import { expect } from 'chai';
import { SCAN_ID_ANNOTATION } from '../../core/protocol/custom-resources.ts';
import { ago, condition, NOW, scanWith, secondsAgo } from '../../test/support/scan-samples.ts';
import { planState, type StateFacts } from './state-plan.ts';

const facts = (more: Partial<StateFacts> = {}): StateFacts => ({
  name: 'default',
  namespace: 'curbcut',
  paused: false,
  scans: [],
  unreadable: new Map(),
  mirrored: null,
  everyMs: 10_000,
  now: NOW,
  ...more,
});
/** A scan that the API submitted. */
const named = (name: string, more: object = {}) => ({
  metadata: { name, uid: name, annotations: { [SCAN_ID_ANNOTATION]: name }, ...more },
});
const manifest = (name: string, more: object = {}) => ({ metadata: { name, uid: name, ...more } });
const ADMITTED = [condition('Admitted', 'True', 'Admitted')];
const WAITS = [condition('Admitted', 'False', 'Queued')];
const SCANS = [
  scanWith({ phase: 'crawling', conditions: ADMITTED }, named('runs')),
  scanWith({ phase: 'queued', conditions: WAITS }, { ...named('waits'), spec: { queue: 'nightly' } }),
  scanWith(undefined, named('fresh')),
  scanWith({ phase: 'done' }, named('ended')),
  scanWith({ phase: 'crawling' }, named('settled', { deletionTimestamp: ago(1), finalizers: ['example.com/keep'] })),
];

describe('the state for submissions', () => {
  it('counts the live scans of all queues, without those that ended or were settled', () => {
    expect(planState(facts({ scans: SCANS })).actions).to.deep.equal([
      { do: 'mirror', state: { paused: false, live: 3 } },
      { do: 'measure', live: 3 },
    ]);
  });

  it('counts manifests from their admission, so that one organisation cannot fill the installation with them', () => {
    const waiting = { phase: 'queued', conditions: WAITS } as const;
    const scans = [
      scanWith({ phase: 'queued', conditions: ADMITTED }, manifest('admitted')),
      scanWith(waiting, manifest('waits')),
      scanWith({ ...waiting, pages: { requested: 5, reserved: 5, scanned: 0, failed: 0 } }, manifest('back in its queue')),
      scanWith(undefined, manifest('fresh')),
      scanWith(waiting, named('with an annotation of its author', { namespace: 'team', annotations: { [SCAN_ID_ANNOTATION]: 'a' } })),
    ];
    expect(planState(facts({ scans })).actions[0]).to.deep.equal({ do: 'mirror', state: { paused: false, live: 1 } });
  });

  it('counts public scans apart, and by their organisation once it is known', () => {
    const spec = { queue: 'public' };
    const scans = [
      scanWith({ phase: 'queued', organisation: 'anonymous' }, { ...named('public'), spec }),
      scanWith(undefined, { ...named('fresh public'), spec }),
      scanWith({ phase: 'done', organisation: 'anonymous' }, { ...named('ended public'), spec }),
      scanWith({ phase: 'queued', organisation: 'acme' }, { ...named('intruder'), spec }),
      scanWith({ phase: 'queued', organisation: 'acme' }, named('paying')),
    ];
    const counted = (name: StateFacts['name']) => planState(facts({ scans, name })).actions[0];
    expect(counted('public')).to.deep.equal({ do: 'mirror', state: { paused: false, live: 2 } });
    expect(counted('default')).to.deep.equal({ do: 'mirror', state: { paused: false, live: 2 } });
    expect(planState(facts({ scans, name: 'public' })).actions).to.have.length(1);
  });

  it('is written if it has changed, else once per interval', () => {
    const mirrored = { state: { paused: false, live: 3 }, at: secondsAgo(9) };
    expect(planState(facts({ scans: SCANS, mirrored })).actions).to.deep.equal([{ do: 'measure', live: 3 }]);
    expect(planState(facts({ scans: SCANS, mirrored, paused: true })).actions[0]).to.deep.equal({
      do: 'mirror',
      state: { paused: true, live: 3 },
    });
    expect(planState(facts({ scans: SCANS, mirrored: { ...mirrored, at: secondsAgo(10) } })).actions[0]).to.have.property('do', 'mirror');
  });

  it('is written after the clock was set back', () => {
    const mirrored = { state: { paused: false, live: 3 }, at: secondsAgo(-3600) };
    expect(planState(facts({ scans: SCANS, mirrored })).actions[0]).to.have.property('do', 'mirror');
    expect(planState(facts({ scans: null, mirrored })).wakeAfterMs).to.equal(0);
  });

  it('is not counted again within a second', () => {
    const mirrored = { state: { paused: false, live: 3 }, at: secondsAgo(0.4) };
    expect(planState(facts({ scans: null, mirrored }))).to.deep.equal({ actions: [], wakeAfterMs: 600 });
  });
});
