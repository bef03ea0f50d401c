/** The chart as helm renders it, without a cluster: what it rejects, what it creates, and that the processes accept the settings. */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { Environment as ApiEnvironment, readApiConfiguration } from '../../api/config.ts';
import { readConfiguration } from '../../platform/configuration.ts';
import { Environment as EvaluationEnvironment } from '../../local/evaluation/secrets.ts';
import { Environment as OperatorEnvironment, readOperatorConfiguration, settingsOf } from '../../operator/config.ts';
import { leaseOf } from '../../operator/operator.ts';
import {
  CHART,
  containerOf,
  environmentOf,
  EVALUATION,
  FROM_SECRETS,
  needsHelm,
  helm,
  one,
  PLAIN,
  podsOf,
  refusalOf,
  render,
  ROOT,
  SECRETS,
  settings,
  type Rendered,
  settingSources,
} from './rendered.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

const VARIANTS = {
  evaluation: EVALUATION,
  'plain values': PLAIN,
  'existing Secrets': SECRETS,
  'every namespace': { ...PLAIN, 'scans.clusterWide': true },
};

/** The role for Organisations, which are cluster-scoped. */
const ORGANISATIONS_ROLE = 'prod-curbcut-operator-organisations';
const DEFINITIONS = globSync('crds/*.yaml', { cwd: ROOT }).map((path) => `${basename(path, '.yaml')}.curbcut.dev`);
const rulesOf = (object: Rendered): Rule[] => object.rules as Rule[];

describe('chart', () => {
  needsHelm();

  it('takes a section that a values file leaves empty for its defaults, but an empty value for none', () => {
    const whole = render(EVALUATION);
    const sections = Object.keys(JSON.parse(readFileSync(join(CHART, 'files', 'sections.json'), 'utf8')) as object);
    const emptied = (some: readonly string[]) =>
      render({ ...EVALUATION, ...Object.fromEntries(some.filter((path) => path !== 'evaluation').map((path) => [path, null])) });
    expect(emptied(sections.filter((path) => !path.includes('.')))).to.deep.equal(whole);
    expect(emptied(sections.filter((path) => path.includes('.')))).to.deep.equal(whole);
    const { spec } = one(render({ ...EVALUATION, 'api.replicaCount': null }), 'Deployment', 'curbcut-api');
    expect(spec).not.to.have.property('replicas');
  });

  it('mounts the Secrets of declared webhooks into the operator, and no other', () => {
    const pod = (values: Record<string, unknown>) => {
      const objects = render({ ...PLAIN, ...values });
      const deployment = one(objects, 'Deployment', 'curbcut-operator') as unknown as {
        spec: { template: { spec: { volumes?: { name: string; secret: object }[]; containers: { volumeMounts?: object[] }[] } } };
      };
      const { volumes = [], containers } = deployment.spec.template.spec;
      return { volumes, mounts: containers[0]!.volumeMounts ?? [], objects };
    };
    const before = pod({});
    const { volumes, mounts, objects } = pod({ 'webhooks.secrets': ['hooks', 'more.hooks'] });
    expect(volumes.slice(before.volumes.length)).to.deep.equal(
      ['hooks', 'more.hooks'].map((secretName, index) => ({
        name: `webhook-${index}`,
        secret: { secretName, optional: true, defaultMode: 0o444 },
      })),
    );
    expect(mounts.slice(before.mounts.length)).to.deep.equal([
      { name: 'webhook-0', mountPath: '/run/webhooks/hooks', readOnly: true },
      { name: 'webhook-1', mountPath: '/run/webhooks/more.hooks', readOnly: true },
    ]);
    expect(environmentOf(containerOf(objects, 'curbcut-operator'), FROM_SECRETS).WEBHOOK_SECRETS_DIR).to.equal('/run/webhooks');
    expect(environmentOf(containerOf(before.objects, 'curbcut-operator'), FROM_SECRETS)).to.not.have.property('WEBHOOK_SECRETS_DIR');
  });

  it('passes helm lint', () => {
    expect(helm('lint', '--strict', CHART)).to.match(/0 chart\(s\) failed/);
    expect(helm('lint', '--strict', CHART, '--set', 'evaluation.enabled=true')).to.not.match(/WARNING|ERROR/);
  });

  it('has the version of the project, and contains the definitions when packaged', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const folder = mkdtempSync(join(tmpdir(), 'curbcut-chart-'));
    try {
      helm('package', CHART, '--destination', folder);
      const crds = helm(
        'template',
        'curbcut',
        join(folder, `curbcut-${version}.tgz`),
        ...settings(PLAIN),
        '--show-only',
        'templates/crds.yaml',
      );
      for (const name of DEFINITIONS) expect(crds).to.contain(`name: ${name}`);
      expect(helm('show', 'chart', CHART)).to.match(new RegExp(`^appVersion: ${version}$`, 'm'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('rejects misspelt values and values out of range, and names them', () => {
    expect(refusalOf({ ...EVALUATION, 'evaluation.enable': true })).to.match(/evaluation.*enable/s);
    expect(refusalOf({ ...EVALUATION, 'scans.retentionDays': 3 })).to.match(/retentionDays/);
    expect(refusalOf({ ...EVALUATION, 'targets.deny': ['10.0.0.0'] })).to.match(/targets.*deny/s);
  });

  it('names missing values, and evaluation mode as the alternative', () => {
    expect(refusalOf({})).to.match(/mongodb\.url .*evaluation\.enabled=true/s);
    expect(refusalOf({ ...PLAIN, 's3.secretAccessKey': '' })).to.match(/s3\.secretAccessKey .*not set/);
    expect(refusalOf({ ...PLAIN, ...EVALUATION })).to.match(/brings its own MongoDB/);
    expect(refusalOf({ ...EVALUATION, 'api.ingress.enabled': true })).to.match(/api\.ingress\.hosts is not set/);
  });

  for (const [name, values] of Object.entries(VARIANTS)) {
    describe(`with ${name}`, () => {
      let objects: Rendered[];
      before(() => {
        objects = render(values);
      });

      it('sets only known variables, with valid values', () => {
        const api = environmentOf(containerOf(objects, 'curbcut-api'), FROM_SECRETS);
        expect(Object.keys(ApiEnvironment.properties)).to.include.members(Object.keys(api));
        expect(readApiConfiguration(api)).to.include({ HOST: '::', PORT: 8080, CURBCUT_NAMESPACE: 'prod-scans' });
        const operator = environmentOf(containerOf(objects, 'curbcut-operator'), FROM_SECRETS);
        expect(Object.keys(OperatorEnvironment.properties)).to.include.members(Object.keys(operator));
        const config = readOperatorConfiguration(operator);
        expect(config).to.include({ HOST: '::', METRICS_PORT: 9090, SCANNER_HOST_USERS: false });
        expect(config.WATCH_NAMESPACES).to.equal(name === 'every namespace' ? '' : 'prod-scans');
      });

      it('creates pods that pass Pod Security restricted, with a read-only root and limits', () => {
        const pods = [...podsOf(objects)];
        expect(pods.map(([pod]) => pod)).to.include.members(['curbcut-api', 'curbcut-operator', 'curbcut-test']);
        for (const [pod, spec] of pods) {
          expect(spec.securityContext, pod).to.deep.include({
            runAsNonRoot: true,
            runAsUser: 65532,
            seccompProfile: { type: 'RuntimeDefault' },
          });
          expect(spec.enableServiceLinks, pod).to.equal(false);
          for (const { securityContext, resources, image } of spec.containers) {
            expect(securityContext, pod).to.deep.equal({
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            });
            expect(resources.limits.memory, pod).to.be.a('string');
            expect(image, pod).to.match(/^curbcut\.dev\/(service|evaluation):0\.1\.0$/);
          }
        }
        expect(podsOf(objects).get('curbcut-test')!.automountServiceAccountToken).to.equal(false);
      });

      it('replaces replicas one by one, and limits disruptions to one replica', () => {
        for (const process of ['api', 'operator']) {
          const { spec } = one(objects, 'Deployment', `curbcut-${process}`) as unknown as { spec: { strategy: object } };
          expect(spec.strategy).to.deep.equal({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
          expect(one(objects, 'PodDisruptionBudget', `curbcut-${process}`).spec).to.deep.include({ maxUnavailable: 1 });
          const container = containerOf(objects, `curbcut-${process}`);
          expect(container).to.include.keys('startupProbe', 'livenessProbe', 'readinessProbe');
        }
      });

      it('grants no wildcard, and reads only the Secret that the evaluation fills', () => {
        const roles = objects.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole');
        const bound = objects.filter(({ kind, metadata }) => kind === 'ClusterRoleBinding' && metadata.name !== ORGANISATIONS_ROLE);
        expect(bound.length > 0).to.equal(name === 'every namespace');
        for (const role of roles) {
          for (const rule of rulesOf(role)) {
            expect([...rule.apiGroups, ...rule.resources, ...rule.verbs], role.metadata.name).to.not.include('*');
            if (!rule.resources.includes('secrets')) continue;
            if (role.metadata.name === 'curbcut-evaluation')
              expect(rule).to.deep.include({ resourceNames: ['curbcut-evaluation'], verbs: ['get', 'patch'] });
            else expect(rule.verbs).to.deep.equal(['create']);
          }
        }
      });

      it('keeps the objects whose deletion would delete scans', () => {
        const kept = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'] === 'keep');
        expect(kept.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).to.have.members([
          'Namespace/prod-scans',
          ...DEFINITIONS.map((name) => `CustomResourceDefinition/${name}`),
        ]);
        expect(kept.find(({ kind }) => kind === 'Namespace')!.metadata.labels).to.include({
          'pod-security.kubernetes.io/enforce': 'restricted',
        });
      });
    });
  }

  it('sets the runtime class and the seccomp profile', () => {
    const isolation = { 'scanner.runtimeClassName': 'gvisor', 'scanner.seccompProfile': 'profiles/curbcut-scanner.json' };
    const operator = environmentOf(containerOf(render({ ...PLAIN, ...isolation }), 'curbcut-operator'), FROM_SECRETS);
    const { scanner } = settingsOf(readOperatorConfiguration(operator));
    expect(scanner).to.deep.include({ seccompProfile: 'profiles/curbcut-scanner.json' });
    expect(scanner.pod).to.include({ runtimeClassName: 'gvisor' });
    expect(refusalOf({ ...PLAIN, 'scanner.seccompProfile': '/etc/profile.json' })).to.match(/seccompProfile/);
  });

  it('sets a lower priority for scans: its own PriorityClass or a named one', () => {
    const classOf = (values: Record<string, unknown>) => {
      const objects = render({ ...PLAIN, ...values });
      const made = objects.filter(({ kind }) => kind === 'PriorityClass').map(({ metadata }) => metadata.name);
      const operator = readOperatorConfiguration(environmentOf(containerOf(objects, 'curbcut-operator'), FROM_SECRETS));
      return { made, used: operator.scannerPod.priorityClassName };
    };
    expect(classOf({})).to.deep.equal({ made: ['prod-curbcut-scans'], used: 'prod-curbcut-scans' });
    expect(classOf({ 'scanner.priorityClassName': 'batch' })).to.deep.equal({ made: ['batch'], used: 'batch' });
    const create = { 'scanner.priorityClass.create': false };
    expect(classOf(create)).to.deep.equal({ made: [], used: undefined });
    expect(classOf({ ...create, 'scanner.priorityClassName': 'batch' })).to.deep.equal({ made: [], used: 'batch' });
  });

  it("sets only known variables in the evaluation's pod", () => {
    const environment = environmentOf(containerOf(render(EVALUATION), 'curbcut-evaluation'), {});
    expect(Object.keys(EvaluationEnvironment.properties)).to.include.members(Object.keys(environment));
    expect(readConfiguration(EvaluationEnvironment, environment)).to.include({ CURBCUT_NAMESPACE: 'prod-scans', POD_NAMESPACE: 'prod' });
  });

  it("sets node ports for the API and the evaluation's object store, but not for its database", () => {
    const ports = { 'api.service.type': 'NodePort', 'api.service.nodePort': 30080, 'evaluation.objectsNodePort': 30090 };
    const services = render({ ...EVALUATION, ...ports })
      .filter(({ kind }) => kind === 'Service')
      .map(({ metadata, spec }) => ({ name: metadata.name, ...(spec as { ports: { nodePort?: number }[] }) }))
      .filter((service) => service.ports.some(({ nodePort }) => nodePort !== undefined));
    expect(services.map(({ name, ports: [port] }) => [name, port!.nodePort])).to.have.deep.members([
      ['curbcut', 30080],
      ['curbcut-evaluation-objects', 30090],
    ]);
  });

  it('keeps secrets in Secrets only', () => {
    const objects = render(PLAIN);
    const secret = one(objects, 'Secret', 'curbcut-connections');
    expect(Object.keys(secret.data as object)).to.have.members([
      'mongodb-url',
      'nats-signing-seed',
      'nats.creds',
      's3-access-key-id',
      's3-secret-access-key',
    ]);
    const others = JSON.stringify(objects.filter((object) => object !== secret));
    for (const value of ['mongo-password', 'nats-credentials', PLAIN['nats.signingSeed'], 's3-password'])
      expect(others).to.not.contain(value);
  });

  it('refers to existing Secrets if they are named, and creates none', () => {
    const objects = render(SECRETS);
    expect(objects.filter(({ kind }) => kind === 'Secret')).to.deep.equal([]);
    expect(settingSources(objects, 'curbcut-operator')).to.deep.equal({
      MONGODB_URL: 'secret/mongo url',
      S3_ACCESS_KEY_ID: 'secret/minio access-key-id',
      S3_SECRET_ACCESS_KEY: 'secret/minio secret-access-key',
      NATS_CREDENTIALS: 'secret/nats user.creds',
      NATS_SIGNING_SEED: 'secret/nats signing-seed',
    });
  });

  it('restarts the processes if a plain secret changes', () => {
    const checksum = (password: string) =>
      (
        one(render({ ...PLAIN, 's3.secretAccessKey': password }), 'Deployment', 'curbcut-api') as unknown as {
          spec: { template: Rendered };
        }
      ).spec.template.metadata.annotations!['checksum/connections'];
    expect(checksum('one')).to.not.equal(checksum('two'));
  });

  it('grants the same permissions in every named namespace', () => {
    const objects = render({ ...PLAIN, 'scans.extraNamespaces': ['team-a'] });
    const roles = objects.filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'curbcut-operator');
    expect(roles.map(({ metadata }) => metadata.namespace)).to.deep.equal(['prod-scans', 'team-a']);
    expect(roles[0]!.rules).to.deep.equal(roles[1]!.rules);
    const policies = objects.filter(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'curbcut-scanner');
    expect(policies.map(({ metadata }) => metadata.namespace)).to.deep.equal(['prod-scans', 'team-a']);
  });

  it('lets the operator release the scans of namespaces that have lost their Role, and grants nothing else everywhere', () => {
    const clusterWide = (values: Record<string, unknown>) =>
      render({ ...PLAIN, 'rbac.aggregate': false, 'rbac.organisations': false, ...values }).filter(
        ({ kind }) => kind === 'ClusterRole' || kind === 'ClusterRoleBinding',
      );
    const granted = clusterWide({ 'scans.extraNamespaces': ['team-a'] });
    expect(granted.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).to.deep.equal([
      'ClusterRole prod-curbcut-operator-scans',
      'ClusterRoleBinding prod-curbcut-operator-scans',
    ]);
    expect(granted[0]!.rules).to.deep.equal([
      { apiGroups: ['curbcut.dev'], resources: ['accessibilityscans'], verbs: ['get', 'list', 'watch', 'patch'] },
      { apiGroups: ['curbcut.dev'], resources: ['accessibilityscans/status'], verbs: ['patch'] },
    ]);
    expect(clusterWide({ 'scans.extraNamespaces': ['team-a'], 'rbac.scansOfDeletedNamespaces': false })).to.deep.equal([]);
    expect(clusterWide({})).to.deep.equal([]);
  });

  it('lets the operator manage Organisations, also without scans.clusterWide, unless rbac.organisations is false', () => {
    for (const values of [{}, { 'scans.clusterWide': true }]) {
      const objects = render({ ...PLAIN, ...values });
      expect(one(objects, 'ClusterRole', ORGANISATIONS_ROLE).rules).to.deep.equal([
        { apiGroups: ['curbcut.dev'], resources: ['organisations'], verbs: ['list', 'watch', 'patch'] },
        { apiGroups: ['curbcut.dev'], resources: ['organisations/status'], verbs: ['patch'] },
      ]);
      expect(one(objects, 'ClusterRoleBinding', ORGANISATIONS_ROLE).subjects).to.deep.equal([
        { kind: 'ServiceAccount', name: 'curbcut-operator', namespace: 'prod' },
      ]);
      const without = render({ ...PLAIN, ...values, 'rbac.organisations': false });
      expect(without.filter(({ metadata }) => metadata.name === ORGANISATIONS_ROLE)).to.deep.equal([]);
    }
  });

  it('gives API, operator and Lease the class of the release', () => {
    const objects = render({ ...PLAIN, 'scans.class': 'staging' });
    expect(readApiConfiguration(environmentOf(containerOf(objects, 'curbcut-api'), FROM_SECRETS)).CURBCUT_CLASS).to.equal('staging');
    const operator = environmentOf(containerOf(objects, 'curbcut-operator'), FROM_SECRETS);
    expect(settingsOf(readOperatorConfiguration(operator)).operatorClass).to.equal('staging');
    expect(rulesOf(one(objects, 'Role', 'curbcut-operator-queue')).flatMap(({ resourceNames = [] }) => resourceNames)).to.deep.equal([
      leaseOf('staging'),
    ]);
    // An uninstall removes it. It has no spec: that is the operator's.
    expect(one(objects, 'Lease', leaseOf('staging'))).not.to.have.property('spec');
    expect(render({ ...PLAIN, 'scans.lease.create': false }).filter(({ kind }) => kind === 'Lease')).to.deep.equal([]);
  });
});
