import { expect } from 'chai';
import { NOW, SCAN_ID, condition, scanWith } from '../../../test/support/scan-samples.ts';
import { scanRow } from '../../../test/support/scan-rows.ts';
import { NO_TRACER } from '../../../platform/tracing.ts';
import { KubernetesError, type KubernetesConnection } from '../../../platform/kubernetes/kubernetes.ts';
import { newReconcileState } from '../reconcile-state.ts';
import { createScanTraces } from '../traces.ts';
import { createChildren } from './children.ts';
import { createLauncher, type LaunchState } from './launch.ts';

interface Posted {
  kind: string;
  metadata: { name: string; ownerReferences: { uid: string }[] };
  spec: { template: { spec: { volumes: { name: string; secret: { secretName: string } }[] } } };
}

const SCAN = scanWith({
  phase: 'queued',
  pages: { requested: 5, reserved: 5, scanned: 0, failed: 0 },
  conditions: [condition('Admitted', 'True', 'Admitted')],
});

/** A launcher over an API server that refuses the creation of the given kind. */
function launcherThat(refuses?: { kind: string; error: KubernetesError }) {
  const posted: Posted[] = [];
  const connection = {
    path: () => '/',
    async request(_method: string, _path: string, { body }: { body: Posted }) {
      if (body.kind === refuses?.kind) throw refuses.error;
      posted.push(body);
      return body;
    },
  } as unknown as KubernetesConnection;
  const launcher = createLauncher({
    children: createChildren(connection),
    scans: { find: async () => scanRow({ id: SCAN_ID }) },
    reports: { uploadLink: async () => 'https://store.test/' },
    bus: { issueScanCredential: () => null },
    scanner: {
      image: 'scanner:1',
      imagePullPolicy: 'Always',
      imagePullSecrets: [],
      hostUsers: false,
      requests: {},
      limits: {},
      retries: 0,
    },
    pod: { allowTargets: [], denyTargets: [], workers: 1, pageBudgetMs: 1000, exportMaxBytes: 64_000_000 },
    runTime: { pendingDeadlineSeconds: 60, baseSeconds: 60, maxSeconds: 600, workers: 1, pageBudgetMs: 1000 },
    traces: createScanTraces({ tracer: NO_TRACER }),
  });
  const launch = (state: LaunchState = newReconcileState()) => launcher(SCAN, SCAN_ID, state, NOW, new AbortController().signal);
  return { posted, launch, secrets: () => posted.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => metadata.name) };
}

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

describe('the launch of a scan', () => {
  it('mounts a Secret with an unguessable name, which belongs to the scan', async () => {
    const { posted, launch } = launcherThat();
    await launch();
    const [secret, job] = posted as [Posted, Posted];
    expect(secret.metadata.name).to.match(new RegExp(`^scan-${SCAN_ID}-[0-9a-f]{32}$`));
    expect(secret.metadata.ownerReferences[0]!.uid).to.equal('scan-uid');
    expect(job.spec.template.spec.volumes.find(({ name }) => name === 'input')!.secret.secretName).to.equal(secret.metadata.name);
  });

  it('never accepts a Secret that exists already, which anybody may have created', async () => {
    const taken = new KubernetesError(409, 'AlreadyExists', 'exists');
    const { posted, launch } = launcherThat({ kind: 'Secret', error: taken });
    expect(await rejection(launch())).to.equal(taken);
    expect(posted).to.deep.equal([]);
  });

  it('creates another Secret after a crash, and only one while the same process tries again', async () => {
    const { launch, secrets } = launcherThat({ kind: 'Job', error: new KubernetesError(500, 'InternalError', 'down') });
    const state = newReconcileState();
    await rejection(launch(state));
    await rejection(launch(state));
    expect(secrets()).to.have.length(1);
    await rejection(launch());
    expect(new Set(secrets()).size).to.equal(2);
  });
});
