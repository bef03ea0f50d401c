/** Server-side apply of scans, which the embedded Kubernetes does not have: authors and operator own different fields. */
import { expect } from 'chai';
import { SETTLE_FINALIZER, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { FIELD_MANAGER } from '../../operator/operator.ts';
import type { Pod } from '../../operator/scan/kube-types.ts';
import { NOWHERE, openContext, TARGET, until, type OperatorContext, type Scan } from '../operator/context.ts';
import { kubectlIn, type Kubectl } from '../support/kubectl.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';

interface Managed {
  manager: string;
  operation: 'Apply' | 'Update';
  subresource?: string;
  fieldsV1: Record<string, Record<string, unknown>>;
}

describe('server-side apply', function () {
  this.timeout(240_000);
  let context: OperatorContext;
  let kubectl: Kubectl;
  before(async function () {
    if (!process.env.KUBECONFIG) return this.skip();
    context = await openContext();
    kubectl = kubectlIn(context.kubeconfig, context.team);
    await context.grant(1000);
    context.start();
  });
  after(() => context?.close());

  const manifest = (name: string, spec: object = {}) => ({
    apiVersion: 'curbcut.dev/v1',
    kind: 'AccessibilityScan',
    metadata: { name, namespace: context.team, labels: { team: 'shop' } },
    spec: { url: TARGET, thresholds: { minScore: 1 }, podTemplate: NOWHERE, ...spec },
  });
  /** Applies as Flux does. @throws with the conflicts, if there are any */
  const apply = async (object: object, manager = 'author', run = kubectl) =>
    JSON.parse(
      await run(['apply', '--server-side', '--field-manager', manager, '-f', '-', '-o', 'json', '--show-managed-fields'], object),
    ) as AccessibilityScan;
  const managed = async (scan: Scan) =>
    (
      JSON.parse(await kubectl(['get', 'a11y', scan.name, '-o', 'json', '--show-managed-fields'])) as {
        metadata: { managedFields: Managed[] };
      }
    ).metadata.managedFields;
  async function end(scan: Scan, pod: Pod): Promise<AccessibilityScan> {
    await scan.publish(await scan.upload(pod, bytesOf(reportOf(await scan.input()))));
    return scan.settles();
  }

  it('of the same manifest changes nothing, while the scan runs and after its end', async () => {
    const object = manifest('repeated');
    const scan = context.simulate(await apply(object));
    const pod = await scan.pod();
    const running = await apply(object);
    expect(running.metadata.finalizers).to.include(SETTLE_FINALIZER);
    expect(running.metadata).to.include({ uid: (await scan.read())!.metadata.uid, generation: 1 });
    const ended = await end(scan, pod);
    const again = await apply(object);
    expect(again.metadata).to.include({ uid: ended.metadata.uid, resourceVersion: ended.metadata.resourceVersion });
    expect(again.status?.phase).to.equal('done');
  });

  it('leaves the operator its finalizer, label and status, and the author the spec', async () => {
    const scan = context.simulate(await apply(manifest('owned')));
    const pod = await scan.pod();
    await scan.reaches('launched', ({ status }) => status?.podName !== undefined);
    const fields = await managed(scan);
    const of = (name: string) => fields.filter(({ manager }) => manager === name);
    expect(new Set(fields.map(({ manager }) => manager))).to.deep.equal(new Set(['author', FIELD_MANAGER]));
    const operators = of(FIELD_MANAGER);
    expect(operators.map(({ subresource = '' }) => subresource).toSorted()).to.deep.equal(['', 'status']);
    for (const { fieldsV1, subresource } of operators)
      expect(Object.keys(fieldsV1), subresource).to.deep.equal([subresource === 'status' ? 'f:status' : 'f:metadata']);
    // No one owns the defaults of the definition, so a later apply may set them to the same value.
    expect(Object.keys(of('author')[0]!.fieldsV1['f:spec']!).toSorted()).to.deep.equal(['f:podTemplate', 'f:thresholds', 'f:url']);
    await end(scan, pod);
  });

  it('can change the TTL, cancel, and state defaults', async () => {
    const scan = context.simulate(await apply(manifest('changed')));
    await scan.pod();
    await apply(manifest('changed', { ttlSecondsAfterFinished: 600, locale: 'en' }));
    await apply(manifest('changed', { cancel: true }));
    const { spec, status } = await scan.settles();
    expect(status?.phase).to.equal('canceled');
    expect(spec).to.not.have.property('ttlSecondsAfterFinished');
  });

  it('by another manager conflicts with the author, not with the operator', async () => {
    const scan = context.simulate(await apply(manifest('contested')));
    await scan.pod();
    const conflict = await apply(manifest('contested', { thresholds: { minScore: 2 } }), 'other').then(
      () => expect.fail('it was accepted'),
      (error: { stderr: string }) => error.stderr,
    );
    expect(conflict).to.match(/conflict with "author"/);
    expect(conflict).to.not.include(FIELD_MANAGER);
    await scan.patch({ spec: { cancel: true } });
    await scan.settles();
  });

  it('of the ScanQueue that the operator has created does not conflict with it', async () => {
    await until('the queue exists', () => context.queue());
    const metadata = { name: 'default', namespace: context.namespace };
    const inApiNamespace = kubectlIn(context.kubeconfig, context.namespace);
    for (const paused of [true, false])
      await apply(
        { apiVersion: 'curbcut.dev/v1', kind: 'ScanQueue', metadata, spec: { paused, maxRunning: 20 } },
        'author',
        inApiNamespace,
      );
    expect((await context.queue())?.spec).to.include({ paused: false, maxRunning: 20 });
  });
});
