import { expect } from 'chai';
import { contextOf } from '../../test/support/operator-context.ts';
import { SCAN_ID_ANNOTATION, type AccessibilityScan, type BuiltInQueue } from '../../core/protocol/custom-resources.ts';
import { ago, condition, NOW, scanWith, secondsAgo } from '../../test/support/scan-samples.ts';
import type { ControllerDefinition } from '../runtime/manager.ts';
import { addStateController } from './state.ts';

/** The states of the queues by the clock of `at`; each reconcile follows the one before. */
function stateAt(at: Date, scans: readonly AccessibilityScan[]) {
  const shared = { now: at, paused: false, scans };
  let definition: ControllerDefinition | null = null;
  let actions: object[] = [];
  const manager = {
    add: (added: ControllerDefinition) => ((definition = added), () => undefined),
    namespaces: { unreadable: () => new Map<string, never>(), onChange: () => () => undefined },
  };
  const onChange = () => () => undefined;
  const queue = () => ({ apiVersion: '', kind: '', metadata: { name: '' }, spec: { paused: shared.paused } });
  addStateController(
    contextOf({
      manager,
      scanClient: { list: () => [...shared.scans], onChange },
      queueClient: { namespace: 'curbcut', get: queue, onChange, pausedBefore: () => Promise.resolve(false) },
      stores: { queueStates: { write: async (state) => void actions.push({ do: 'mirror', state }) } },
      metrics: { live: (live) => void actions.push({ do: 'measure', live }) },
      clock: { now: () => shared.now },
    }),
  );
  return async (more: Partial<typeof shared> = {}, name: BuiltInQueue = 'default') => {
    Object.assign(shared, more);
    actions = [];
    const next = await definition!.reconcile(`curbcut/${name}`, new AbortController().signal);
    return { actions, wakeAfterMs: next?.requeueAfterMs };
  };
}

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
  it('counts the live scans of all queues, without those that ended or were settled', async () => {
    expect((await stateAt(NOW, SCANS)()).actions).to.deep.equal([
      { do: 'mirror', state: { paused: false, live: 3 } },
      { do: 'measure', live: 3 },
    ]);
  });

  it('counts manifests from their admission, so that one organisation cannot fill the installation with them', async () => {
    const waiting = { phase: 'queued', conditions: WAITS } as const;
    const scans = [
      scanWith({ phase: 'queued', conditions: ADMITTED }, manifest('admitted')),
      scanWith(waiting, manifest('waits')),
      scanWith({ ...waiting, pages: { requested: 5, reserved: 5, scanned: 0, failed: 0 } }, manifest('back in its queue')),
      scanWith(undefined, manifest('fresh')),
      scanWith(waiting, named('with an annotation of its author', { namespace: 'team', annotations: { [SCAN_ID_ANNOTATION]: 'a' } })),
    ];
    expect((await stateAt(NOW, scans)()).actions[0]).to.deep.equal({ do: 'mirror', state: { paused: false, live: 1 } });
  });

  it('counts public scans apart, and by their organisation once it is known', async () => {
    const spec = { queue: 'public' };
    const scans = [
      scanWith({ phase: 'queued', organisation: 'anonymous' }, { ...named('public'), spec }),
      scanWith(undefined, { ...named('fresh public'), spec }),
      scanWith({ phase: 'done', organisation: 'anonymous' }, { ...named('ended public'), spec }),
      scanWith({ phase: 'queued', organisation: 'acme' }, { ...named('intruder'), spec }),
      scanWith({ phase: 'queued', organisation: 'acme' }, named('paying')),
    ];
    const counted = async (name: BuiltInQueue) => (await stateAt(NOW, scans)({}, name)).actions;
    expect((await counted('public'))[0]).to.deep.equal({ do: 'mirror', state: { paused: false, live: 2 } });
    expect((await counted('default'))[0]).to.deep.equal({ do: 'mirror', state: { paused: false, live: 2 } });
    expect(await counted('public')).to.have.length(1);
  });

  it('is written if it has changed, else once per interval', async () => {
    const reconcile = stateAt(secondsAgo(9), SCANS);
    await reconcile();
    expect((await reconcile({ now: NOW })).actions).to.deep.equal([{ do: 'measure', live: 3 }]);
    expect((await reconcile({ paused: true })).actions[0]).to.deep.equal({ do: 'mirror', state: { paused: true, live: 3 } });
    expect((await reconcile({ now: secondsAgo(-10) })).actions[0]).to.have.property('do', 'mirror');
  });

  it('is not counted again within a second', async () => {
    const reconcile = stateAt(secondsAgo(0.4), SCANS);
    await reconcile();
    expect(await reconcile({ now: NOW })).to.deep.equal({ actions: [], wakeAfterMs: 600 });
  });
});
