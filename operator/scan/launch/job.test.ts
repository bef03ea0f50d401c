import { expect } from 'chai';
import { SCAN_ID, jobWith, scanWith, launched } from '../../../test/support/scan-samples.ts';
import { buildJob, type ScannerSettings } from './job.ts';
import { OWN_VARIABLES, OWN_VOLUMES } from './pod-template.ts';
import { secondsToRun } from '../policy/facts.ts';
import { CURBCUT_VERSION } from '../../../platform/version.ts';
import { buildSecret, podInput } from './launch.ts';

const settings: ScannerSettings = {
  image: 'ghcr.io/curbcut/scanner:1',
  imagePullPolicy: 'IfNotPresent',
  hostUsers: false,
  pod: { resources: { requests: { cpu: '500m', memory: '768Mi' }, limits: { memory: '2Gi' } } },
  retries: 2,
};
const owner = [
  {
    apiVersion: 'curbcut.dev/v1',
    kind: 'AccessibilityScan',
    name: `scan-${SCAN_ID}`,
    uid: 'scan-uid',
    controller: true,
    blockOwnerDeletion: true,
  },
];
const labels = {
  'app.kubernetes.io/name': 'curbcut-scanner',
  'app.kubernetes.io/part-of': 'curbcut',
  'app.kubernetes.io/managed-by': 'curbcut-operator',
  'curbcut.dev/scan-id': SCAN_ID,
  'curbcut.dev/organisation': 'acme',
};
const fromAnnotation = (name: string, annotation: string) => ({
  name,
  valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.annotations['${annotation}']` } },
});
const launch = (spec: object = {}) => ({
  scan: scanWith(launched(), { spec }),
  scanId: SCAN_ID,
  organisation: 'acme',
  seconds: 600,
  secretName: 'scan-input',
});

describe('job', () => {
  it('has exactly the expected fields', () => {
    expect(buildJob(launch(), settings)).to.deep.equal({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name: `scan-${SCAN_ID}`,
        namespace: 'curbcut',
        labels,
        annotations: { 'curbcut.dev/scan-id': SCAN_ID, 'curbcut.dev/scanner-image': settings.image },
        ownerReferences: owner,
      },
      spec: {
        suspend: true,
        completionMode: 'Indexed',
        completions: 1,
        parallelism: 1,
        backoffLimitPerIndex: 13,
        activeDeadlineSeconds: 1830,
        podReplacementPolicy: 'Failed',
        podFailurePolicy: {
          rules: [
            { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
            { action: 'FailJob', onExitCodes: { containerName: 'scanner', operator: 'In', values: [42] } },
          ],
        },
        template: {
          metadata: { labels, annotations: { 'curbcut.dev/scan-id': SCAN_ID } },
          spec: {
            restartPolicy: 'Never',
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
            hostUsers: false,
            terminationGracePeriodSeconds: 45,
            securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
            nodeSelector: { 'kubernetes.io/os': 'linux' },
            tolerations: [
              { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 },
              { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 },
            ],
            containers: [
              {
                name: 'scanner',
                image: 'ghcr.io/curbcut/scanner:1',
                imagePullPolicy: 'IfNotPresent',
                env: [
                  { name: 'SCAN_INPUT', value: '/run/curbcut/scan.json' },
                  fromAnnotation('JOB_COMPLETION_INDEX', 'batch.kubernetes.io/job-completion-index'),
                  fromAnnotation('JOB_INDEX_FAILURE_COUNT', 'batch.kubernetes.io/job-index-failure-count'),
                  fromAnnotation('JOB_INDEX_IGNORED_FAILURE_COUNT', 'batch.kubernetes.io/job-index-ignored-failure-count'),
                  { name: 'TERMINATION_LOG', value: '/dev/termination-log' },
                  { name: 'TMPDIR', value: '/tmp' },
                  { name: 'HOME', value: '/tmp' },
                  { name: 'UV_THREADPOOL_SIZE', value: '16' },
                ],
                resources: { requests: { cpu: '500m', memory: '768Mi' }, limits: { memory: '2Gi' } },
                securityContext: {
                  allowPrivilegeEscalation: false,
                  privileged: false,
                  readOnlyRootFilesystem: true,
                  runAsNonRoot: true,
                  capabilities: { drop: ['ALL'] },
                  seccompProfile: { type: 'RuntimeDefault' },
                },
                terminationMessagePath: '/dev/termination-log',
                terminationMessagePolicy: 'File',
                volumeMounts: [
                  { name: 'input', mountPath: '/run/curbcut', readOnly: true },
                  { name: 'tmp', mountPath: '/tmp' },
                  { name: 'shm', mountPath: '/dev/shm' },
                ],
              },
            ],
            volumes: [
              { name: 'input', secret: { secretName: 'scan-input', defaultMode: 0o444 } },
              { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } },
              { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '512Mi' } },
            ],
          },
        },
      },
    });
  });

  interface PodTemplate {
    metadata: { labels: object; annotations: object };
    spec: Record<string, unknown> & {
      containers: { env: object[]; resources: object; volumeMounts: object[]; securityContext: object }[];
      volumes: object[];
      tolerations: object[];
    };
  }
  const template = (spec: object, more: Partial<ScannerSettings> = {}): PodTemplate =>
    (buildJob(launch(spec), { ...settings, ...more }).spec as unknown as { template: PodTemplate }).template;

  it('mounts the sign-in Secret of a scan that has one', () => {
    const { spec } = template({ auth: { secretRef: { name: 'sign-in' } } });
    expect(spec.volumes).to.deep.include({ name: 'auth', secret: { secretName: 'sign-in', defaultMode: 0o444 } });
    expect(spec.containers[0]!.volumeMounts).to.deep.include({ name: 'auth', mountPath: '/run/curbcut-auth', readOnly: true });
    expect(spec.containers[0]!.env).to.deep.include({ name: 'SCAN_AUTH', value: '/run/curbcut-auth' });
  });

  it('uses host users and pull secrets if configured', () => {
    const { spec } = template({}, { hostUsers: true, pod: { imagePullSecrets: [{ name: 'registry' }] } });
    expect(spec).not.to.have.property('hostUsers');
    expect(spec['imagePullSecrets']).to.deep.equal([{ name: 'registry' }]);
  });

  it("uses the installation's priority class, and the scan's only without one", () => {
    expect(template({}, { pod: { priorityClassName: 'scans' } }).spec).to.include({ priorityClassName: 'scans' });
    const own = { podTemplate: { priorityClassName: 'urgent' } };
    expect(template(own, { pod: { priorityClassName: 'scans' } }).spec).to.include({ priorityClassName: 'scans' });
    expect(template(own).spec).to.include({ priorityClassName: 'urgent' });
  });

  it('does not let a scan weaken the isolation that the installation requires', () => {
    const { spec } = template(
      { podTemplate: { runtimeClassName: 'none-at-all' } },
      { pod: { runtimeClassName: 'gvisor' }, seccompProfile: 'profiles/curbcut-scanner.json' },
    );
    expect(spec).to.include({ runtimeClassName: 'gvisor' });
    expect(spec.containers[0]!.securityContext).to.deep.include({
      seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/curbcut-scanner.json' },
    });
  });

  it("has the installation's placement, volumes and variables, which take precedence over the scan's", () => {
    const pod = {
      labels: { team: 'platform' },
      annotations: { 'example.com/cost': 'scans' },
      nodeSelector: { pool: 'scans' },
      tolerations: [{ key: 'scans', operator: 'Exists' }],
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
      resources: { requests: { cpu: '1' }, limits: { cpu: '2', memory: '3Gi' } },
      podSecurityContext: { fsGroup: 65532 },
      securityContext: { runAsUser: 1001 },
      env: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/ca/ca.pem' }],
      volumes: [{ name: 'ca', configMap: { name: 'ca' } }],
      volumeMounts: [{ name: 'ca', mountPath: '/etc/ca' }],
    };
    const own = {
      labels: { team: 'web', site: 'shop', 'curbcut.dev/scan-id': 'forged' },
      annotations: { 'example.com/cost': 'none' },
      nodeSelector: { pool: 'cheap', disk: 'ssd', 'kubernetes.io/os': 'windows' },
      tolerations: [{ key: 'spot', operator: 'Exists' }],
      affinity: { nodeAffinity: {}, podAntiAffinity: {} },
      resources: { requests: { memory: '1Gi' } },
    };
    const { metadata, spec } = template({ podTemplate: own }, { pod });
    expect(metadata.labels).to.include({ team: 'platform', site: 'shop', 'curbcut.dev/scan-id': SCAN_ID });
    expect(metadata.annotations).to.include({ 'example.com/cost': 'scans' });
    expect(spec).to.deep.include({
      nodeSelector: { pool: 'scans', disk: 'ssd', 'kubernetes.io/os': 'linux' },
      affinity: { ...pod.affinity, podAntiAffinity: {} },
      topologySpreadConstraints: pod.topologySpreadConstraints,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' }, fsGroup: 65532 },
    });
    expect(spec.tolerations.slice(2)).to.deep.equal([...pod.tolerations, ...own.tolerations]);
    const [container] = spec.containers;
    expect(container!.resources).to.deep.equal({ requests: { cpu: '1', memory: '1Gi' }, limits: pod.resources.limits });
    expect(container!.securityContext).to.include({ runAsUser: 1001, readOnlyRootFilesystem: true });
    expect(container!.env.at(-1)).to.deep.equal(pod.env[0]);
    expect(container!.volumeMounts.at(-1)).to.deep.equal(pod.volumeMounts[0]);
    expect(spec.volumes.at(-1)).to.deep.equal(pod.volumes[0]);
  });

  it('has no variable or volume that an installation may also set', () => {
    const { spec } = template({ auth: { secretRef: { name: 'sign-in' } } });
    const names = (list: object[]) => (list as { name: string }[]).map(({ name }) => name).sort();
    expect(names(spec.containers[0]!.env)).to.deep.equal([...OWN_VARIABLES].sort());
    expect(names(spec.volumes)).to.deep.equal([...OWN_VOLUMES].sort());
  });

  it('allows the full budget for every page, up to the limit', () => {
    const time = { pendingDeadlineSeconds: 300, baseSeconds: 300, maxSeconds: 3600, workers: 2, pageBudgetMs: 30_000 };
    expect([1, 5, 500].map((pages) => secondsToRun(pages, time))).to.deep.equal([615, 675, 3900]);
  });
});

describe('secret', () => {
  const grants = {
    uploads: [
      {
        attempt: 0,
        shard: 0,
        export: 'https://objects/export',
        pdf: 'https://objects/pdf',
        pictures: 'https://objects/pictures',
        result: 'https://objects/result',
      },
    ],
    cancelMark: 'https://objects/canceled',
    messages: { url: 'nats://bus', subject: `progress.${SCAN_ID}`, jwt: 'jwt', seed: 'seed' },
    deadline: new Date('2026-03-02T10:10:00Z'),
    uploadDeadline: new Date('2026-03-02T10:30:00Z'),
  };
  const pod = { allowTargets: ['10.0.0.0/8'], denyTargets: [], workers: 2, pageBudgetMs: 30_000, exportMaxBytes: 64_000_000 };
  const truncated = {
    ...launch(),
    scan: scanWith(launched({ pages: { requested: 5, reserved: 3, scanned: 0, failed: 0 } }), { spec: { thresholds: { minScore: 90 } } }),
  };

  it('contains the pod input with the reserved pages', () => {
    const input = podInput(truncated, pod, grants);
    expect(input).to.deep.equal({
      version: CURBCUT_VERSION,
      scanId: SCAN_ID,
      submittedAt: '2026-03-02T09:50:00Z',
      options: {
        url: 'https://example.com/',
        httpFallback: false,
        maxPages: 5,
        wcagLevel: 'AA',
        wcagVersion: '2.1',
        thresholds: { minScore: 90 },
        crawl: {
          include: [],
          exclude: [],
          hashRoutes: 'paths',
          hosts: [],
          rewriteHost: '',
          urls: [],
          sitemap: true,
          respectRobots: true,
          waitFor: '',
          settleMs: 0,
          consent: 'keep',
          prepare: [],
        },
        locale: 'en',
        pictures: true,
        advice: true,
      },
      pagesReserved: 3,
      uploads: grants.uploads,
      cancelMark: grants.cancelMark,
      messages: grants.messages,
      deadline: '2026-03-02T10:10:00.000Z',
      uploadDeadline: '2026-03-02T10:30:00.000Z',
      allowTargets: ['10.0.0.0/8'],
      denyTargets: [],
      workers: 2,
      pageBudgetMs: 30_000,
      exportMaxBytes: 64_000_000,
    });
    const secret = buildSecret(truncated, jobWith(), input);
    expect(JSON.parse(Buffer.from(secret.data['scan.json']!, 'base64').toString())).to.deep.equal(input);
    expect({ ...secret, data: {} }).to.deep.equal({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'scan-input',
        namespace: 'curbcut',
        labels,
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: `scan-${SCAN_ID}`, uid: 'job-uid', controller: true }],
      },
      type: 'Opaque',
      immutable: true,
      data: {},
    });
  });

  it('contains no message credential if the bus does not issue one', () => {
    expect(podInput(truncated, pod, { ...grants, messages: null })).not.to.have.property('messages');
  });
});
