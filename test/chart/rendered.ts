/** Renders the chart with helm, without a cluster. */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseDocument } from 'yaml';

export const ROOT = join(import.meta.dirname, '..', '..');
export const CHART = join(ROOT, 'helm');

export interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels: Record<string, string>; annotations?: Record<string, string> };
  [field: string]: unknown;
}
export interface Container {
  name: string;
  image: string;
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[];
  securityContext: Record<string, unknown>;
  resources: { requests: object; limits: { memory?: string } };
  [field: string]: unknown;
}
export interface PodSpec {
  containers: Container[];
  securityContext: Record<string, unknown>;
  automountServiceAccountToken: boolean;
  enableServiceLinks: boolean;
  volumes?: { name: string; secret?: { secretName: string } }[];
}

let installed: boolean | undefined;

/** Whether helm is installed. */
export const hasHelm = (): boolean => (installed ??= spawnSync('helm', ['version'], { stdio: 'ignore' }).status === 0);

/** Skips the tests of a `describe` if helm is not installed. */
export function needsHelm(): void {
  before(function () {
    if (hasHelm()) return;
    console.log('      (skipped: helm is not installed)');
    this.skip();
  });
}

/** Runs helm. @returns its output @throws with its stderr if it fails */
export function helm(...args: string[]): string {
  // As Argo CD renders it: without any cluster.
  return execFileSync('helm', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: '/dev/null' },
  });
}

/** The error message of helm. @throws if it succeeds */
export function refusal(...args: string[]): string {
  try {
    helm(...args);
  } catch (error) {
    return String((error as { stderr: string }).stderr);
  }
  throw new Error(`helm ${args.join(' ')} did not fail`);
}

/** Values as arguments of helm. */
export const settings = (values: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(values).flatMap(([key, value]) => ['--set-json', `${key}=${JSON.stringify(value)}`]);

/** The objects that were read, by their text: many are the same with all values. */
const read = new Map<string, Rendered | null>();
function objectOf(text: string): Rendered | null {
  const known = read.get(text);
  if (known !== undefined) return known;
  const document = parseDocument(text);
  const [problem] = document.errors;
  if (problem) throw problem;
  const object = document.toJS() as Rendered | null;
  read.set(text, object);
  return object;
}
/** The objects of a text of helm. They are shared by all tests: do not change them. */
export const objectsOf = (manifests: string): Rendered[] => manifests.split(/^---$/m).flatMap((text) => objectOf(text) ?? []);

/** The chart as release `curbcut` in namespace `prod`, with the given values (dotted keys). The same values are rendered once. */
export function text(values: Readonly<Record<string, unknown>>, ...args: string[]): string {
  const all = ['template', 'curbcut', CHART, '--namespace', 'prod', ...settings(values), ...args];
  const key = all.join('\0');
  const known = rendered.get(key) ?? helm(...all);
  rendered.set(key, known);
  return known;
}
const rendered = new Map<string, string>();

export const render = (values: Readonly<Record<string, unknown>>): Rendered[] => objectsOf(text(values));

/** What helm prints after an installation. */
export function notes(values: Readonly<Record<string, unknown>>): string {
  return helm('install', 'curbcut', CHART, '--namespace', 'prod', '--dry-run=client', ...settings(values)).split('\nNOTES:\n')[1]!;
}

export function refusalOf(values: Readonly<Record<string, unknown>>): string {
  return refusal('template', 'curbcut', CHART, ...settings(values));
}

export const EVALUATION = { 'evaluation.enabled': true };
export const PLAIN = {
  'mongodb.url': 'mongodb://user:mongo-password@db-0.data.svc:27017,db-1.data.svc:27018/curbcut',
  'nats.url': 'nats://10.1.2.3:4222',
  'nats.credentials': 'nats-credentials',
  'nats.signingSeed': `SA${'A'.repeat(56)}`,
  's3.endpoint': 'https://s3.example.com',
  's3.bucket': 'reports',
  's3.accessKeyId': 'key-id',
  's3.secretAccessKey': 's3-password',
  'networkPolicy.s3.to': [{ ipBlock: { cidr: '203.0.113.0/24' } }],
};
export const SECRETS = {
  'mongodb.existingSecret.name': 'mongo',
  'networkPolicy.mongodb.to': [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'data' } } }],
  'nats.url': 'nats://nats.messages.svc:4222',
  'nats.existingSecret.name': 'nats',
  's3.endpoint': 'http://minio.objects.svc:9000',
  's3.bucket': 'reports',
  's3.existingSecret.name': 'minio',
};

/** The pod specs of the manifests, by the name of the Deployment or Pod. */
export function podsOf(objects: readonly Rendered[]): Map<string, PodSpec> {
  return new Map(
    objects.flatMap((object) => {
      if (object.kind === 'Pod') return [[object.metadata.name, object.spec as PodSpec] as const];
      if (object.kind !== 'Deployment') return [];
      return [[object.metadata.name, (object.spec as { template: { spec: PodSpec } }).template.spec] as const];
    }),
  );
}

/** The only object of a kind and name. */
export const one = (objects: readonly Rendered[], kind: string, name: string): Rendered => {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  if (found.length !== 1) throw new Error(`${found.length} of ${kind}/${name}`);
  return found[0]!;
};
export const containerOf = (objects: readonly Rendered[], name: string): Container => podsOf(objects).get(name)!.containers[0]!;

/** The environment of a container. `secrets` has the values of the settings that come from files, by their names. */
export function environmentOf(container: Container, secrets: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    container.env!.map(({ name, value }) => {
      const setting = name.replace(/_FILE$/, '');
      return value === `/run/curbcut/${setting}` && setting in secrets ? [setting, secrets[setting]!] : [name, value!];
    }),
  );
}

/** Where the settings of a process come from that it reads from files: "kind/name key", by the name of the setting. */
export function settingSources(objects: readonly Rendered[], process: string): Record<string, string> {
  const volume = podsOf(objects)
    .get(process)!
    .volumes!.find(({ name }) => name === 'settings') as unknown as {
    projected: { sources: Record<string, { name: string; items: [{ key: string; path: string }] }>[] };
  };
  return Object.fromEntries(
    volume.projected.sources.flatMap((source) =>
      Object.entries(source).map(
        ([
          kind,
          {
            name,
            items: [{ key, path }],
          },
        ]) => [path, `${kind}/${name} ${key}`],
      ),
    ),
  );
}
export const FROM_SECRETS = {
  MONGODB_URL: 'mongodb://db/curbcut',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
  NATS_SIGNING_SEED: `SA${'A'.repeat(56)}`,
};
