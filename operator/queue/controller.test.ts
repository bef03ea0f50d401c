import { expect } from 'chai';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { createFakeClock, settle } from '../../test/support/fake-clock.ts';
import { contextOf } from '../../test/support/operator-context.ts';
import { condition, NOW, scanWith } from '../../test/support/scan-samples.ts';
import type { Readability } from '../organisation/controller.ts';
import type { ControllerDefinition } from '../runtime/manager.ts';
import { shareOfScans } from '../scan/kube-types.ts';
import { addQueueController } from './controller.ts';
import { createAdmissionGate } from './places.ts';

const KEY = 'curbcut/default';
const LATE = new KubernetesError(500, 'InternalError', 'Internal error occurred: failed calling webhook "policy.example.com"');

describe('queue controller', () => {
  /** A controller for waiting scans, named `namespace/name`, whose writes end when the test ends them. */
  function controllerOf(names: readonly string[], maxRunning = 10) {
    const clock = createFakeClock(NOW.getTime());
    const gate = createAdmissionGate(clock);
    const scans = new Map(names.map((name) => [name, waiting(name)]));
    const writes: { name: string; land: () => void; fail: (error: Error) => void }[] = [];
    const enqueued: string[] = [];
    let controller!: ControllerDefinition;
    const scanClient = {
      get: (namespace: string, name: string) => scans.get(`${namespace}/${name}`),
      byIndex: () => [...scans.values()],
      onChange: () => () => undefined,
      patchStatus: ({ metadata: { namespace, name } }: AccessibilityScan, status: object) =>
        new Promise<AccessibilityScan>((resolve, fail) => {
          const of = `${namespace}/${name}`;
          const land = (): void => {
            scans.set(of, { ...scans.get(of)!, status: { ...scans.get(of)!.status, ...status } });
            resolve(scans.get(of)!);
          };
          writes.push({ name: of, land, fail });
        }),
    };
    const context = contextOf({
      clock,
      gate,
      scanClient,
      shareOf: shareOfScans(scanClient, 'curbcut'),
      manager: {
        add: (definition) => ((controller = definition), (key) => enqueued.push(key)),
        namespaces: { unreadable: () => new Map(), onChange: () => () => undefined },
      },
      queueClient: {
        namespace: 'curbcut',
        get: () => ({
          apiVersion: 'curbcut.dev/v1',
          kind: 'ScanQueue',
          metadata: { name: 'default', namespace: 'curbcut' },
          spec: { maxRunning },
        }),
        pausesOf: () => [],
        patchStatus: async (queue) => queue,
      },
      stores: { queueStates: { writeLine: async () => undefined } },
    });
    addQueueController(context, { condition: () => null, onChange: () => () => undefined } as unknown as Readability);
    const reconcile = () => controller.reconcile(KEY, new AbortController().signal);
    const started = () => writes.map(({ name }) => name);
    const taken = () => [...gate.close('default').taken.keys()].toSorted();
    return { clock, writes, started, taken, enqueued, reconcile };
  }

  function waiting(of: string): AccessibilityScan {
    const [namespace, name] = of.split('/') as [string, string];
    const conditions = [condition('Admitted', 'False', 'Queued'), condition('Succeeded', 'Unknown', 'Queued')];
    return scanWith({ phase: 'queued', organisation: namespace, conditions }, { metadata: { namespace, name, uid: of } });
  }

  it('writes admissions of different namespaces side by side, and those of one after the other', async () => {
    const { writes, started, taken, reconcile } = controllerOf(['a/1', 'a/2', 'b/1', 'c/1']);
    const planned = reconcile();
    await settle();
    expect(started()).to.deep.equal(['a/1', 'b/1', 'c/1']);
    expect(taken(), 'places that are taken').to.deep.equal(['a/1', 'a/2', 'b/1', 'c/1']);
    for (const { land } of writes.slice()) land();
    await settle();
    expect(started().at(-1)).to.equal('a/2');
    writes.at(-1)!.land();
    await planned;
    expect(taken()).to.deep.equal([]);
  });

  it('waits a second for the writes of a namespace, gives its places to others, and leaves it out after a late failure', async () => {
    const { clock, writes, started, taken, enqueued, reconcile } = controllerOf(['a/1', 'a/2', 'b/1', 'b/2', 'c/1'], 4);
    const first = reconcile();
    await settle();
    expect(started()).to.deep.equal(['a/1', 'b/1', 'c/1']);
    for (const { land } of writes.slice(1)) land();
    await clock.advance(1_000);
    await first;
    expect(enqueued).to.deep.equal([KEY]);
    expect(taken(), 'only the place of the write that is in progress').to.deep.equal(['a/1']);
    const second = reconcile();
    await settle();
    expect(started().slice(3)).to.deep.equal(['b/2']);
    writes.at(-1)!.land();
    await second;

    writes[0]!.fail(LATE);
    await settle();
    expect(enqueued).to.have.length(2);
    await clock.advance(29_000);
    await reconcile();
    expect(started(), 'nothing of the slow namespace').to.have.length(4);
    await clock.advance(1_000);
    const third = reconcile();
    await settle();
    expect(started().slice(4)).to.deep.equal(['a/1']);
    writes.at(-1)!.land();
    await third;
  });

  it('leaves out only the scan whose write fails at once, although the writes before it took long', async () => {
    const { clock, writes, started, reconcile } = controllerOf(['a/1', 'a/2', 'a/3']);
    const first = reconcile();
    await settle();
    await clock.advance(900);
    writes[0]!.land();
    await settle();
    await clock.advance(200);
    await first;
    writes[1]!.fail(LATE);
    await settle();
    const second = reconcile();
    await settle();
    expect(started()).to.deep.equal(['a/1', 'a/2', 'a/3']);
    writes[2]!.land();
    await second;
  });

  it('plans again soon after a write found another version of a scan', async () => {
    const { writes, reconcile } = controllerOf(['a/1']);
    const planned = reconcile();
    await settle();
    writes[0]!.fail(new KubernetesError(409, 'Conflict', 'the object has been modified'));
    expect(await planned).to.deep.equal({ requeueAfterMs: 200 });
  });

  it('leaves out only the scan whose write fails at once', async () => {
    const { writes, started, reconcile } = controllerOf(['a/1', 'a/2'], 10);
    const planned = reconcile();
    await settle();
    writes[0]!.fail(LATE);
    await settle();
    expect(started()).to.deep.equal(['a/1', 'a/2']);
    writes[1]!.land();
    await planned;
    await reconcile();
    expect(started()).to.have.length(2);
  });
});
