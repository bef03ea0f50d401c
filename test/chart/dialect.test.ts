/** The values that users of other charts expect: images, names, labels, security contexts, placement, extra volumes, routes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';
import { readApiConfiguration } from '../../api/config.ts';
import { readOperatorConfiguration } from '../../operator/config.ts';
import {
  CHART,
  containerOf,
  environmentOf,
  EVALUATION,
  FROM_SECRETS,
  needsHelm,
  helm,
  notes,
  one,
  PLAIN,
  podsOf,
  refusalOf,
  render,
  type PodSpec,
  type Rendered,
} from './rendered.ts';

type Values = Readonly<Record<string, unknown>>;

const DIGEST = `sha256:${'a'.repeat(64)}`;
const INGRESS = { 'api.ingress': { enabled: true, hosts: [{ host: 'scan.example.com' }] }, 'api.trustedProxies': ['10.0.0.0/8'] };
const ROUTE = {
  'api.httpRoute': { enabled: true, parentRefs: [{ name: 'public', namespace: 'gateways' }], hostnames: ['scan.example.com'] },
  'api.trustedProxies': ['10.0.0.0/8'],
};

const imagesOf = (values: Values): Record<string, string> => {
  const objects = render(values);
  const pods = [...podsOf(objects)].map(([name, { containers }]) => [name, containers[0]!.image]);
  return { ...(Object.fromEntries(pods) as object), scanner: operatorOf(objects).SCANNER_IMAGE };
};
const operatorOf = (objects: readonly Rendered[]) =>
  readOperatorConfiguration(environmentOf(containerOf(objects, 'curbcut-operator'), FROM_SECRETS));
const publicUrlOf = (values: Values): string | undefined =>
  readApiConfiguration(environmentOf(containerOf(render({ ...PLAIN, ...values }), 'curbcut-api'), FROM_SECRETS)).PUBLIC_BASE_URL;
const podOf = (values: Values, name: string): PodSpec & Record<string, unknown> =>
  podsOf(render(values)).get(name)! as PodSpec & Record<string, unknown>;

describe("the chart's values", () => {
  needsHelm();

  it('name images for all parts, for an umbrella chart and for one part, by tag or digest', () => {
    const names = ['curbcut-api', 'curbcut-operator', 'curbcut-evaluation', 'curbcut-test', 'scanner'];
    const of = (values: Values) => names.map((name) => imagesOf({ ...EVALUATION, ...values })[name]);
    const all = (registry: string, tag: string) =>
      ['service', 'service', 'evaluation', 'service', 'scanner'].map((name) => `${registry}/${name}:${tag}`);
    expect(of({})).to.deep.equal(all('curbcut.dev', '0.1.0'));
    expect(of({ 'image.registry': 'r.example/c', 'image.tag': '1.2.3' })).to.deep.equal(all('r.example/c', '1.2.3'));
    const [api, operator, ...others] = all('mirror.example', '0.1.0');
    const own = { registry: 'other.example', repository: 'a11y/scanner', digest: DIGEST };
    expect(of({ 'global.imageRegistry': 'mirror.example', 'scanner.image': own, 'operator.image.tag': '2' })).to.deep.equal([
      api,
      operator!.replace('0.1.0', '2'),
      ...others.slice(0, 2),
      `other.example/a11y/scanner@${DIGEST}`,
    ]);
    expect(refusalOf({ ...PLAIN, 'scanner.image.digest': 'sha256:1' })).to.match(/digest/);
  });

  it('list every image of the chart in an annotation, for mirroring tools', () => {
    const { annotations, appVersion } = parseChart();
    const listed = [...annotations['artifacthub.io/images']!.matchAll(/image: (\S+)/g)].map(([, image]) => image);
    expect(new Set(listed)).to.deep.equal(new Set(Object.values(imagesOf(EVALUATION))));
    expect(listed.every((image) => image!.endsWith(`:${appVersion}`))).to.equal(true);
  });

  it('give every pod the pull Secrets, and create one from credentials wherever pods run', () => {
    const values = {
      ...EVALUATION,
      imagePullSecrets: [{ name: 'own' }],
      'global.imagePullSecrets': [{ name: 'shared' }],
      imageCredentials: { registry: 'r.example', username: 'robot', password: 'pw' },
      'scans.extraNamespaces': ['team-a'],
    };
    const objects = render(values);
    const wanted = [{ name: 'shared' }, { name: 'own' }, { name: 'curbcut-registry' }];
    for (const [name, pod] of podsOf(objects)) expect((pod as unknown as Values)['imagePullSecrets'], name).to.deep.equal(wanted);
    expect(operatorOf(objects).scannerPod.imagePullSecrets).to.deep.equal(wanted);
    const secrets = objects.filter(({ kind, metadata }) => kind === 'Secret' && metadata.name === 'curbcut-registry');
    expect(secrets.map(({ metadata }) => metadata.namespace)).to.deep.equal(['prod', 'prod-scans', 'team-a']);
    const { '.dockerconfigjson': encoded } = secrets[0]!.data as Record<string, string>;
    expect(JSON.parse(Buffer.from(encoded!, 'base64').toString())).to.deep.equal({
      auths: { 'r.example': { username: 'robot', password: 'pw', auth: Buffer.from('robot:pw').toString('base64') } },
    });
    expect(refusalOf({ ...PLAIN, imagePullSecrets: ['own'] })).to.match(/imagePullSecrets/);
  });

  it('name and label the objects', () => {
    const named = (values: Values) => render({ ...PLAIN, ...values }).find(({ kind }) => kind === 'Service')!.metadata;
    expect(named({ fullnameOverride: 'a11y' }).name).to.equal('a11y');
    expect(named({ nameOverride: 'a11y' })).to.deep.include({ name: 'curbcut-a11y' });
    expect(named({ nameOverride: 'a11y' }).labels).to.include({ 'app.kubernetes.io/name': 'a11y' });
    const objects = render({ ...EVALUATION, commonLabels: { team: 'web' }, 'metrics.serviceMonitor.enabled': true });
    for (const { kind, metadata } of objects.filter(({ kind }) => kind !== 'CustomResourceDefinition'))
      expect(metadata.labels, `${kind}/${metadata.name}`).to.include({ team: 'web' });
    for (const object of objects.filter(({ kind }) => kind === 'Deployment')) {
      const { template, selector } = object.spec as { template: Rendered; selector: { matchLabels: object } };
      expect(template.metadata.labels).to.include({ team: 'web', ...selector.matchLabels });
      expect(selector.matchLabels).to.not.have.property('team');
    }
    expect(operatorOf(objects).scannerPod.labels).to.deep.equal({ team: 'web', 'sidecar.istio.io/inject': 'false' });
    expect(refusalOf({ ...PLAIN, commonLabels: { 'app.kubernetes.io/name': 'x' } })).to.match(/commonLabels/);
  });

  for (const part of ['api', 'operator'] as const)
    it(`place the pods of ${part}, and add variables, volumes, labels and a ServiceAccount`, () => {
      const more = {
        nodeSelector: { pool: 'services' },
        tolerations: [{ key: 'services', operator: 'Exists' }],
        affinity: { nodeAffinity: {} },
        topologySpreadConstraints: [],
        priorityClassName: 'high',
        podLabels: { tier: 'one' },
        podAnnotations: { note: 'two' },
        extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
        extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
        extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca' }],
        serviceAccount: { create: false, name: 'existing' },
      };
      const objects = render({ ...PLAIN, ...Object.fromEntries(Object.entries(more).map(([key, value]) => [`${part}.${key}`, value])) });
      const pod = podsOf(objects).get(`curbcut-${part}`) as PodSpec & Record<string, unknown>;
      const { tolerations, affinity, topologySpreadConstraints, priorityClassName } = more;
      const nodeSelector = { ...more.nodeSelector, 'kubernetes.io/os': 'linux' };
      expect(pod).to.deep.include({ nodeSelector, tolerations, affinity, topologySpreadConstraints, priorityClassName });
      expect(pod['serviceAccountName']).to.equal('existing');
      expect(pod.volumes!.map(({ name }) => name)).to.deep.equal(['settings', 'ca']);
      expect(pod.containers[0]!['volumeMounts']).to.deep.include({ name: 'ca', mountPath: '/etc/ca' });
      expect(pod.containers[0]!.env!.at(-1)).to.deep.equal(more.extraEnv[0]);
      const { template } = one(objects, 'Deployment', `curbcut-${part}`).spec as { template: Rendered };
      expect(template.metadata.labels).to.include({ tier: 'one' });
      expect(template.metadata.annotations).to.include({ note: 'two' });
      expect(objects.some(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.name === `curbcut-${part}`)).to.equal(false);
      const bound = objects.filter(({ kind }) => kind.endsWith('RoleBinding')).flatMap(({ subjects }) => subjects as { name: string }[]);
      expect(bound.map(({ name }) => name))
        .to.include('existing')
        .and.not.include(`curbcut-${part}`);
      expect(refusalOf({ ...PLAIN, [`${part}.serviceAccount.create`]: false })).to.include(`${part}.serviceAccount.name is not set`);
    });

  it('refuse a variable that the chart itself sets', () => {
    for (const [part, name] of [
      ['api', 'LOG_LEVEL'],
      ['operator', 'MONGODB_URL_FILE'],
    ] as const)
      expect(refusalOf({ ...PLAIN, [`${part}.extraEnv`]: [{ name, value: 'x' }] })).to.include(`${part}.extraEnv sets ${name}`);
  });

  it('refuse what the operator would refuse at its start', () => {
    for (const [key, value] of [
      ['scanner.resources.claims', []],
      ['scanner.resources.limits', { memory: true }],
      ['scanner.extraEnv', [{ name: 'A', value: 1 }]],
      ['scanner.extraEnv', [{ name: 'A', value: null }]],
    ] as const)
      expect(refusalOf({ ...PLAIN, [key]: value }), key).to.include('/scanner/');
  });

  it('stay strings in names that look like numbers', () => {
    const text = helm('template', '123', CHART, '--namespace', '123', '--set', 'evaluation.enabled=true,nameOverride=a11y');
    const objects = parseAllDocuments(text).map((document) => document.toJS() as Rendered | null);
    for (const object of objects.filter((one) => one !== null)) {
      const { name, namespace = '', labels } = object.metadata;
      for (const value of [name, namespace, ...Object.values(labels)]) expect(value, `${object.kind}/${name}`).to.be.a('string');
    }
    expect(refusalOf({ ...PLAIN, fullnameOverride: '1e3' })).to.include('fullnameOverride');
    expect(render({ ...PLAIN, fullnameOverride: 'true' }).find(({ kind }) => kind === 'Service')!.metadata.name).to.equal('true');
  });

  it('leave IDs to OpenShift', () => {
    for (const [name, { securityContext }] of podsOf(render({ ...EVALUATION, openshift: true })))
      expect(securityContext, name).to.deep.equal({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    // Files of credentials must be readable by a user of any ID and group.
    const mounted = podOf({ ...PLAIN, 'webhooks.secrets': ['hooks'] }, 'curbcut-operator').volumes as unknown as Record<
      string,
      { defaultMode?: number }
    >[];
    expect(mounted.map((volume) => (volume['projected'] ?? volume['secret'])?.defaultMode)).to.deep.equal([0o444, 0o444]);
    const own = { 'api.podSecurityContext': { runAsUser: 1001 }, 'api.securityContext': { readOnlyRootFilesystem: false } };
    const api = podOf({ ...PLAIN, ...own }, 'curbcut-api');
    expect(api.securityContext).to.include({ runAsUser: 1001, fsGroup: 65532 });
    expect(api.containers[0]!.securityContext).to.include({ readOnlyRootFilesystem: false, allowPrivilegeEscalation: false });
    expect(podOf({ ...PLAIN, ...own }, 'curbcut-operator').securityContext).to.include({ runAsUser: 65532 });
  });

  it('place the pods of scans, by what the operator accepts at its start', () => {
    const scanner = {
      podLabels: { tier: 'scans' },
      podAnnotations: { note: 'x' },
      nodeSelector: { pool: 'scans' },
      tolerations: [{ key: 'scans', operator: 'Exists', tolerationSeconds: 30 }],
      affinity: { nodeAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
      podSecurityContext: { fsGroup: 1 },
      securityContext: { runAsUser: 1001 },
      resources: { requests: { cpu: 1 }, limits: { memory: '3Gi', cpu: '2' } },
    };
    const { podLabels, podAnnotations, ...same } = scanner;
    const extras = {
      'scanner.extraEnv': [{ name: 'A', value: 'b' }],
      'scanner.extraVolumes': [{ name: 'v', emptyDir: {} }],
      'scanner.extraVolumeMounts': [{ name: 'v', mountPath: '/v' }],
      'scanner.priorityClass.create': false,
    };
    const objects = render({
      ...PLAIN,
      ...Object.fromEntries(Object.entries(scanner).map(([key, value]) => [`scanner.${key}`, value])),
      ...extras,
    });
    expect(operatorOf(objects).scannerPod).to.deep.equal({
      ...same,
      resources: { requests: { cpu: 1, memory: '768Mi' }, limits: { memory: '3Gi', cpu: '2' } },
      // No sidecars, unless the values ask for them.
      labels: { ...podLabels, 'sidecar.istio.io/inject': 'false' },
      annotations: { ...podAnnotations, 'linkerd.io/inject': 'disabled' },
      env: extras['scanner.extraEnv'],
      volumes: extras['scanner.extraVolumes'],
      volumeMounts: extras['scanner.extraVolumeMounts'],
    });
  });

  it('leave the number of replicas to another tool if it is null, and limit disruptions all the same', () => {
    const objects = render({ ...PLAIN, 'api.replicaCount': null, 'operator.replicaCount': null });
    for (const part of ['curbcut-api', 'curbcut-operator']) {
      expect(one(objects, 'Deployment', part).spec).to.not.have.property('replicas');
      one(objects, 'PodDisruptionBudget', part);
    }
    expect(one(render({ ...PLAIN, 'operator.replicaCount': 3 }), 'Deployment', 'curbcut-operator').spec).to.include({ replicas: 3 });
  });

  it('route several hosts and paths to the API', () => {
    const hosts = [{ host: 'a.example' }, { host: 'b.example', paths: [{ path: '/v1', pathType: 'Exact' }] }];
    const { rules } = one(render({ ...PLAIN, ...INGRESS, 'api.ingress.hosts': hosts }), 'Ingress', 'curbcut').spec as {
      rules: { host: string; http: { paths: { path: string; pathType: string }[] } }[];
    };
    expect(rules.map(({ host, http }) => [host, ...http.paths.map(({ path, pathType }) => `${pathType} ${path}`)])).to.deep.equal([
      ['a.example', 'Prefix /'],
      ['b.example', 'Exact /v1'],
    ]);
    expect(one(render({ ...PLAIN, ...ROUTE }), 'HTTPRoute', 'curbcut').spec).to.deep.equal({
      parentRefs: [{ name: 'public', namespace: 'gateways' }],
      hostnames: ['scan.example.com'],
      rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], backendRefs: [{ name: 'curbcut', port: 80 }] }],
    });
    expect(refusalOf({ ...PLAIN, ...ROUTE, 'api.httpRoute.hostnames': [] })).to.include('api.httpRoute.hostnames are not set');
    expect(refusalOf({ ...PLAIN, ...ROUTE, 'api.trustedProxies': [] })).to.include('api.trustedProxies is not set');
  });

  it('derive the public address, also where TLS ends before the Ingress', () => {
    const tls = { 'api.ingress.tls': [{ secretName: 'tls', hosts: ['scan.example.com'] }] };
    expect(publicUrlOf({ ...INGRESS, ...tls })).to.equal('https://scan.example.com');
    expect(publicUrlOf({ ...INGRESS, 'api.publicScheme': 'https' })).to.equal('https://scan.example.com');
    const others = { 'api.ingress.tls': [{ secretName: 'tls', hosts: ['other.example.com'] }] };
    expect(publicUrlOf({ ...INGRESS, ...others })).to.equal('http://scan.example.com');
    const wild = { 'api.ingress.tls': [{ secretName: 'tls', hosts: ['*.example.com'] }] };
    expect(publicUrlOf({ ...INGRESS, ...wild })).to.equal('https://scan.example.com');
    const wildcard = { ...INGRESS, 'api.ingress.hosts': [{ host: '*.example.com' }] };
    expect(refusalOf({ ...PLAIN, ...wildcard })).to.include('cannot be derived from *.example.com');
    expect(publicUrlOf({ ...wildcard, 'api.publicBaseUrl': 'https://a.example.com' })).to.equal('https://a.example.com');
    expect(publicUrlOf(ROUTE)).to.equal('https://scan.example.com');
    expect(notes({ ...PLAIN, ...INGRESS })).to.include('WARNING: the public address http://scan.example.com is not https');
  });
});

function parseChart(): { annotations: Record<string, string>; appVersion: string } {
  return parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as ReturnType<typeof parseChart>;
}
