/** Every object that the chart renders, for many values, has the fields and types that Kubernetes knows. */
import { expect } from 'chai';
import { filesOfModules } from '../support/go-modules.ts';
import { readSchemas, SCHEMAS, type KubernetesSchemas } from '../support/kubernetes-schemas.ts';
import { EVALUATION, hasHelm, PLAIN, render, SECRETS } from './rendered.ts';

const ANY = [{ ipBlock: { cidr: '0.0.0.0/0' } }];
const EXTRAS = {
  nodeSelector: { pool: 'a' },
  tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 5 }],
  affinity: {
    podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: 'zone' } }] },
  },
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
  priorityClassName: 'high',
  podLabels: { a: 'b' },
  podAnnotations: { a: 'b', 'prometheus.io/scrape': 'false', gone: null },
  podSecurityContext: { fsGroupChangePolicy: 'OnRootMismatch' },
  securityContext: { runAsUser: 1001 },
  extraEnv: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }],
  extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca', readOnly: true }],
  serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn' } },
};

const { 's3.accessKeyId': _id, 's3.secretAccessKey': _key, ...KEYLESS } = PLAIN;

/** Values that together turn on every branch of the templates. */
const MATRIX: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  evaluation: {
    ...EVALUATION,
    'evaluation.objectsNodePort': 30_090,
    'evaluation.inboxNodePort': 30_025,
    'evaluation.existingClaim': 'data',
  },
  'plain values': PLAIN,
  'existing Secrets': { ...SECRETS, 'webhooks.secrets': ['hooks'], 'scans.clusterWide': true, 'scans.maxLivePerOrganisation': 5 },
  extras: {
    ...PLAIN,
    api: EXTRAS,
    operator: EXTRAS,
    // The same keys as in podLabels and podAnnotations, and as the chart's own annotations.
    commonLabels: { team: 'web', a: 'c' },
    'metrics.serviceMonitor': { enabled: true, labels: { team: 'x' } },
    'metrics.dashboard': { enabled: true, labels: { team: 'x' } },
    imageCredentials: { registry: 'r.example', username: 'a', password: 'b' },
    imagePullSecrets: [{ name: 'own' }],
    'scans.extraNamespaces': ['team-a'],
    fullnameOverride: 'a11y',
  },
  'routes and autoscaling': {
    ...PLAIN,
    'api.trustedProxies': ['10.0.0.0/8'],
    'api.ingress': {
      enabled: true,
      className: 'nginx',
      hosts: [{ host: 'a.example' }],
      tls: [{ secretName: 'tls', hosts: ['a.example'] }],
    },
    'api.httpRoute': {
      enabled: true,
      parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
      hostnames: ['a.example'],
      filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: { remove: ['x-a'] } }],
    },
    'api.autoscaling': {
      enabled: true,
      targetMemoryUtilizationPercentage: 80,
      behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
    },
    'api.service': { type: 'LoadBalancer', nodePort: 30_080, annotations: { a: 'b' } },
  },
  'OpenShift and small': {
    ...PLAIN,
    'podSecurityContext.runAsUser': null,
    'podSecurityContext.runAsGroup': null,
    'podSecurityContext.fsGroup': null,
    'networkPolicy.dns': { namespace: 'openshift-dns', ports: [5353] },
    'api.replicaCount': 1,
    'operator.replicaCount': 1,
    'crds.keep': false,
    'metrics.annotations': false,
  },
  'a company network': {
    ...PLAIN,
    privateCA: { services: { configMap: 'ca' }, sites: { secret: 'ca' } },
    outboundProxy: { url: 'http://a:b@10.3.3.3:3128', scannerExistingSecret: { name: 'scanner-proxy' } },
    'networkPolicy.proxy.to': ANY,
    'scans.extraNamespaces': ['team-a'],
    openshift: true,
  },
  'a role': { ...KEYLESS, 's3.workloadIdentity.roleArn': 'arn:aws:iam::1:role/a', 'networkPolicy.sts.to': ANY },
  'an agent': { ...KEYLESS, 's3.workloadIdentity.podIdentity': true },
  'mail, sign-in and monitoring': {
    ...PLAIN,
    'smtp.url': 'smtps://a:b@mail.example',
    'networkPolicy.smtp.to': ANY,
    oidc: { issuer: 'https://login.example', clientId: 'a', existingSecret: { name: 'oidc' } },
    'networkPolicy.oidc.to': ANY,
    turnstile: { siteKey: 'a', existingSecret: { name: 'turnstile' } },
    'networkPolicy.turnstile.to': ANY,
    'publicScans.enabled': true,
    'tracing.endpoint': 'http://otel.tracing.svc:4318',
    'tracing.scannerEndpoint': 'http://otel.tracing.svc:4318',
    'metrics.serviceMonitor.enabled': true,
    'metrics.dashboard.enabled': true,
    'targets.allow': ['10.0.0.0/8', '10.1.1.1'],
    clusterRanges: ['203.0.113.0/24', '2a00::/32'],
  },
};

/** Kinds of the Prometheus operator, whose definitions are in no module. promtool checks the alerts. */
const WITHOUT_SCHEMA = ['ServiceMonitor'];

describe("the chart's objects", function () {
  this.timeout(300_000);
  let schemas: KubernetesSchemas;
  before(async function () {
    const files = hasHelm() ? await filesOfModules(SCHEMAS) : ({ ok: false, reason: 'helm is not installed' } as const);
    if (!files.ok) {
      console.log(`      (skipped: ${files.reason})`);
      this.skip();
    }
    schemas = readSchemas(files.files);
  });

  for (const [name, values] of Object.entries(MATRIX))
    it(`are valid with ${name}`, () => {
      const objects = render(values);
      expect(objects).to.have.length.above(10);
      const problems = objects.flatMap((object) => {
        const found = schemas.problemsOf(object) ?? (WITHOUT_SCHEMA.includes(object.kind) ? [] : ['no schema']);
        return found.map((problem) => `${object.kind}/${object.metadata.name}: ${problem}`);
      });
      expect(problems).to.deep.equal([]);
    });
});
