/** docs/gitops.md and examples/ci, carried out: each manifest and each command in their order, with a real kubectl. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { AccessibilityScan, ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { OrganisationResource } from '../../core/protocol/organisation-resources.ts';
import { RUN_ANNOTATION, SCHEDULE_LABEL, type ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { QUEUES, SCANS, SCHEDULES } from '../../operator/scan/kube-types.ts';
import { ORGANISATIONS } from '../../operator/organisation/controller.ts';
import { blocksOf, manifestsIn, ROOT, type Manifest } from '../gitops/manifests.ts';
import { bytesOf, pagesOf, reportOf } from '../support/scan-results.ts';
import { NOWHERE, openContext, until, type OperatorContext } from './context.ts';
import { getIfThere, isGone, type Scan } from './simulated-scan.ts';

const run = promisify(execFile);
const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' };
const CONFIGMAPS = { group: '', version: 'v1', plural: 'configmaps' };
const PAGE = 'docs/gitops.md';
/** The sites that the page and the test's gates scan. */
const TARGETS = { allow: ['shop.example.com', 'pr-12.preview.example.com'], deny: [] };

/** Ends a scan with results: two violations, or none. */
async function finish(scan: Scan, passes: boolean): Promise<AccessibilityScan> {
  const pod = await scan.pod();
  const input = await scan.input();
  const pages = pagesOf(input.options.url);
  const tested = passes ? pages.slice(1) : pages;
  const counts = { scanned: tested.length, failed: 0, total: tested.length };
  await scan.publish(await scan.upload(pod, bytesOf(reportOf(input, tested)), undefined, counts));
  return scan.settles();
}

/** Waits for a scan that a command has created, and controls its pod. */
async function found(context: OperatorContext, namespace: string, name: string): Promise<Scan> {
  const read = () => getIfThere<AccessibilityScan>(context.connection, SCANS, namespace, name);
  return context.simulate(await until(`there is a scan ${name}`, read));
}

describe('the page for platform teams', function () {
  this.timeout(240_000);
  const suffix = randomUUID().slice(0, 8);
  const organisation = `shop-${suffix}`;
  const operatorClass = `page-${suffix}`;
  let context: OperatorContext;
  let isOurs = false;

  before(async () => {
    context = await openContext();
    context.start({ operatorClass, targets: TARGETS, organisationsEveryMs: 100 });
    // Argo CD's ConfigMap, unless the cluster has one, which the test must not change.
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } };
    isOurs = await context.connection.request('POST', context.connection.path(NAMESPACES), { body: namespace }).then(
      () => true,
      () => false,
    );
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'argocd-cm' }, data: { 'admin.enabled': 'false' } };
    if (isOurs) await context.connection.request('POST', context.connection.path(CONFIGMAPS, 'argocd'), { body: configMap });
  });
  after(async () => {
    const { connection } = context;
    if (isOurs) await connection.request('DELETE', connection.path(NAMESPACES, undefined, 'argocd'));
    await remove(SCHEDULES, context.strangers, 'shop-nightly');
    await context.rest();
    await connection
      .request('PATCH', connection.path(ORGANISATIONS, undefined, organisation), {
        contentType: 'application/merge-patch+json',
        body: { metadata: { finalizers: null } },
      })
      .catch(() => undefined);
    await remove(ORGANISATIONS, undefined, organisation);
    await context.close();
  });
  const remove = (type: typeof SCANS, namespace: string | undefined, name: string): Promise<unknown> =>
    context.connection.request('DELETE', context.connection.path(type, namespace, name)).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });

  /** The names on the page, and those of this test. Its namespaces belong to nobody before the Organisation is applied. */
  const renamed = (text: string): string =>
    text
      .replace(/(--namespace )shop(-\w+)?\b/g, `$1${context.strangers}`)
      .replace(/(--namespace )curbcut-scans\b/g, `$1${context.namespace}`)
      .replace(/\borganisation([ /])shop\b/g, `organisation$1${organisation}`);

  /** The manifest as printed, but in the namespaces of this test, of its operator class, and with a pod that matches no node. */
  function placed({ object }: Manifest): object {
    const spec = structuredClone(object.spec!);
    const { namespace } = object.metadata;
    const at = { curbcut: context.namespace, 'curbcut-scans': context.namespace }[namespace!] ?? context.strangers;
    const metadata = { ...object.metadata, ...(namespace !== undefined && { namespace: at }) };
    const own = { class: operatorClass, podTemplate: NOWHERE };
    if (object.kind === 'AccessibilityScan') Object.assign(spec, own);
    if (object.kind === 'KnownIssues') Object.assign(spec, { class: operatorClass });
    if (object.kind === 'ScanSchedule') Object.assign((spec as unknown as ScanSchedule['spec']).scanTemplate.spec, own);
    if (object.kind === 'Organisation') {
      Object.assign(spec, { class: operatorClass, namespaces: [context.strangers] });
      metadata.name = organisation;
    }
    return { ...object, metadata, spec };
  }

  const environment = (): NodeJS.ProcessEnv => ({ ...process.env, KUBECONFIG: context.kubeconfig });
  async function shell(command: string): Promise<string> {
    const running = run('bash', ['-euo', 'pipefail', '-c', renamed(command)], { cwd: ROOT, env: environment(), timeout: 120_000 });
    running.child.stdin!.end();
    return (await running).stdout;
  }
  async function apply(manifest: Manifest): Promise<void> {
    const running = run('kubectl', ['apply', '--validate=strict', '-f', '-'], { env: environment() });
    running.child.stdin!.end(JSON.stringify(placed(manifest)));
    await running;
  }

  /** What happens in the cluster meanwhile, by the manifest that was applied. */
  const meanwhile: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
    AccessibilityScan: async (name) => finish(await found(context, context.strangers, name), true),
  };

  it('works as printed, from top to bottom', async () => {
    const done: string[] = [];
    const happening: Promise<unknown>[] = [];
    for (const block of blocksOf(PAGE)) {
      if (block.language === 'yaml')
        for (const manifest of manifestsIn(block.text, block.from)) {
          await apply(manifest);
          done.push(manifest.object.kind);
          happening.push(meanwhile[manifest.object.kind]?.(manifest.object.metadata.name) ?? Promise.resolve());
        }
      if (block.language === 'sh')
        for (const command of block.text.trim().split('\n')) {
          if (command.includes('argocd-cm') && !isOurs) continue;
          await shell(command).catch((error: unknown) => {
            throw new Error(`${block.from}: ${command}`, { cause: error });
          });
          done.push(command);
        }
    }
    await Promise.all(happening);
    expect(done).to.include.members(['Organisation', 'ScanSchedule', 'KnownIssues', 'ScanQueue', 'AccessibilityScan']);
    expect(done.filter((command) => command.startsWith('kubectl ')).length).to.be.greaterThan(10);
  });

  it('leaves the organisation ready with its credits, charged for the tested page', async () => {
    const read = () => getIfThere<OrganisationResource>(context.connection, ORGANISATIONS, undefined, organisation);
    const { status } = await until('the spent credit is stated', async () => {
      const resource = await read();
      return resource?.status?.spent === 1 ? resource : null;
    });
    expect(status).to.deep.include({ granted: 20_000, spent: 1 });
  });

  it('leaves the schedule suspended, with the run that was requested', async () => {
    const schedule = (await getIfThere<ScanSchedule>(context.connection, SCHEDULES, context.strangers, 'shop-nightly'))!;
    expect(schedule.spec.suspend).to.equal(true);
    expect(schedule.metadata.annotations?.[RUN_ANNOTATION]).to.match(/^\d{10}$/);
    const query = { labelSelector: `${SCHEDULE_LABEL}=shop-nightly` };
    const path = context.connection.path(SCANS, context.strangers);
    const { items } = await until('the run exists', async () => {
      const list = await context.connection.request<{ items: AccessibilityScan[] }>('GET', path, { query });
      return list.items.length > 0 ? list : null;
    });
    expect(items.map(({ metadata }) => metadata.name)[0]).to.match(/^shop-nightly-run-/);
  });

  it('leaves the queue open again', async () => {
    const queue = await getIfThere<ScanQueue>(context.connection, QUEUES, context.namespace, 'nightly');
    expect(queue?.spec).to.deep.include({ paused: false, maxRunning: 4, maxRunningPerOrganisation: 2 });
  });

  it('is followed by the files of examples/, applied by a tool again and again', async () => {
    const files = [
      'platform/organisation-shop.yaml',
      'platform/queues.yaml',
      'team/nightly.yaml',
      'team/homepage.yaml',
      'team/known-issues.yaml',
    ];
    const manifests = files.flatMap((file) => manifestsIn(readFileSync(join(ROOT, 'examples', file), 'utf8'), file));
    for (const manifest of manifests) await apply(manifest);
    const homepage = await found(context, context.strangers, 'homepage-2026-03');
    const ended = await finish(homepage, true);
    for (const manifest of manifests) await apply(manifest);
    const again = (await homepage.read())!;
    expect([again.metadata.uid, again.metadata.generation]).to.deep.equal([ended.metadata.uid, ended.metadata.generation]);
    const { status } = await until('the organisation is charged for both scans, and its grant counted once', async () => {
      const resource = await getIfThere<OrganisationResource>(context.connection, ORGANISATIONS, undefined, organisation);
      return resource?.status?.spent === 2 ? resource : null;
    });
    expect(status?.granted).to.equal(20_000);
    const queue = await getIfThere<ScanQueue>(context.connection, QUEUES, context.namespace, 'default');
    expect(queue?.spec).to.deep.include({ maxRunning: 10, weights: { shop: 2 } });
  });

  it("adds to Argo CD's ConfigMap and keeps what was in it", async function () {
    if (!isOurs) return this.skip();
    const { data } = (await getIfThere<{ data: Record<string, string> }>(context.connection, CONFIGMAPS, 'argocd', 'argocd-cm'))!;
    expect(data['admin.enabled']).to.equal('false');
    expect(data['resource.customizations.health.curbcut.dev_AccessibilityScan']).to.contain('Stalled=True');
  });
});

describe('examples/ci/scan.sh', function () {
  this.timeout(240_000);
  let context: OperatorContext;
  let folder: string;
  before(async () => {
    context = await openContext();
    await context.grant(100);
    context.start({ targets: TARGETS });
    // A kubectl that gives the scans a pod that matches no node.
    folder = mkdtempSync(join(tmpdir(), 'curbcut-ci-'));
    const { stdout } = await run('bash', ['-c', 'command -v kubectl']);
    const inject = `  podTemplate: ${JSON.stringify(NOWHERE)}`;
    writeFileSync(
      join(folder, 'kubectl'),
      `#!/bin/sh\nif [ "$1" = apply ]; then { cat; echo '${inject}'; } | ${stdout.trim()} "$@"; else exec ${stdout.trim()} "$@"; fi\n`,
    );
    chmodSync(join(folder, 'kubectl'), 0o755);
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    await context.close();
  });

  const script = async (name: string): Promise<{ code: number; stdout: string; stderr: string }> => {
    const env = { ...process.env, KUBECONFIG: context.kubeconfig, PATH: `${folder}${delimiter}${process.env['PATH']}`, TIMEOUT: '100s' };
    const running = run(join(ROOT, 'examples/ci/scan.sh'), [context.team, name, 'https://shop.example.com'], { env });
    return running.then(
      (ended) => ({ code: 0, ...ended }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  };

  for (const [what, passes, code] of [
    ['0 and the verdict if the scan passed', true, 0],
    ['1 and the verdict if it missed a threshold', false, 1],
  ] as const)
    it(`exits with ${what}, and scans once however often it runs`, async () => {
      const name = `ci-${randomUUID().slice(0, 8)}`;
      const spent = await context.spent();
      const ending = found(context, context.team, name).then((scan) => finish(scan, passes));
      const first = await script(name);
      const ended = await ending;
      expect(first.code, first.stderr).to.equal(code);
      expect(first.stdout).to.match(passes ? /^done: .*\nscore 100, 0 violations$/m : /^done: .*\nscore \S+, 3 violations$/m);
      const charged = (await context.spent()) - spent;
      expect(charged).to.equal(passes ? 1 : 2);
      const second = await script(name);
      expect([second.code, (await context.spent()) - spent]).to.deep.equal([code, charged]);
      const scan = (await getIfThere<AccessibilityScan>(context.connection, SCANS, context.team, name))!;
      expect(scan.metadata.uid).to.equal(ended.metadata.uid);
    });
});
