/** Installs the chart on the cluster of KUBECONFIG, in its own namespaces, and removes it again. */
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freshFetch } from '../support/fresh-fetch.ts';

const run = promisify(execFile);
export const CHART = join(import.meta.dirname, '..', '..', 'helm');

/** Runs kubectl. @returns its output @throws with its stderr if it fails */
export async function kubectl(args: readonly string[], input?: string): Promise<string> {
  const child = run('kubectl', [...args], { maxBuffer: 16 << 20 });
  if (input !== undefined) child.child.stdin!.end(input);
  return (await child).stdout;
}

/** Runs helm. @returns its output @throws with its stderr if it fails */
export async function helm(...args: string[]): Promise<string> {
  return (await run('helm', args, { maxBuffer: 16 << 20 })).stdout;
}

/** Whether there are a cluster and helm. Prints what is missing. */
export async function clusterAndHelm(): Promise<boolean> {
  const missing = process.env.KUBECONFIG
    ? await run('helm', ['version']).then(
        () => null,
        () => 'helm is not installed',
      )
    : 'KUBECONFIG is not set';
  if (missing !== null) console.log(`      (skipped: ${missing})`);
  return missing === null;
}

export const settings = (values: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(values).flatMap(([key, value]) => ['--set-json', `${key}=${JSON.stringify(value)}`]);

/** A reference as an image of the chart's values. */
function imageOf(reference: string): Record<string, string> {
  const [name, digest = ''] = reference.split('@') as [string, string?];
  const [, registry, repository, tag = ''] = /^(?:(.*)\/)?([^/:]+)(?::([^/:]+))?$/.exec(name)!;
  return { registry: registry ?? '', repository: repository!, tag, digest };
}

/** The images as `tools/images` names them, as chart values. */
export const IMAGES: Readonly<Record<string, unknown>> = {
  'image.registry': process.env.IMAGE_PREFIX ?? 'curbcut.dev',
  'image.tag': process.env.TAG ?? 'dev',
  ...(process.env.SCANNER_IMAGE && { 'scanner.image': imageOf(process.env.SCANNER_IMAGE) }),
};
export const SCANNER_IMAGE = process.env.SCANNER_IMAGE ?? `${IMAGES['image.registry'] as string}/scanner:${IMAGES['image.tag'] as string}`;
export const SERVICE_IMAGE = `${IMAGES['image.registry'] as string}/service:${IMAGES['image.tag'] as string}`;

/** Polls until `satisfies` returns true. @throws Error with the last value after `withinMs` */
export async function eventually<T>(ask: () => Promise<T>, satisfies: (value: T) => boolean, withinMs = 60_000): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    const value = await ask();
    if (satisfies(value)) return value;
    if (Date.now() > until)
      throw new Error(`condition not met within ${withinMs / 1000} s; last value: ${JSON.stringify(value)?.slice(0, 3000)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

export interface StreamEvent {
  event: string;
  scan_id: string;
  status: string;
  score: number | null;
  violations_count: number | null;
  violations_critical: number | null;
  passed: boolean | null;
  message: string | null;
}

/** Follows a scan to its end and reconnects if the stream ends early, as a client does. */
export async function follow(ask: Evaluation['ask'], id: string, headers: Record<string, string> = {}): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  while (events.at(-1)?.event !== 'complete') {
    const answer = await ask(`/v1/ci/scans/${id}/events`, { headers });
    if (answer.status !== 200) throw new Error(`the stream of ${id}: ${answer.status} ${await answer.text()}`);
    // The stream may break or end normally. Keep the events received so far.
    let text = '';
    const decoder = new TextDecoder();
    try {
      for await (const chunk of answer.body!) text += decoder.decode(chunk as Uint8Array, { stream: true });
    } catch {
      // The loop reconnects.
    }
    events.push(...[...text.matchAll(/^data: (.*)\n/gm)].map((match) => JSON.parse(match[1]!) as StreamEvent));
  }
  return events;
}

/** Deletes a namespace and waits until it is gone. Removes the finalizers of its scans, because no operator is running. */
export async function removeNamespace(name: string): Promise<void> {
  await kubectl(['delete', 'namespace', name, '--wait=false', '--ignore-not-found']);
  const names = (await kubectl(['get', 'accessibilityscans', '-n', name, '-o', 'name'])).split('\n').filter(Boolean);
  for (const scan of names)
    await kubectl(['patch', scan, '-n', name, '--type=merge', '-p', '{"metadata":{"finalizers":null}}']).catch(() => {});
  await kubectl(['wait', '--for=delete', `namespace/${name}`, '--timeout=120s']);
}

export interface Evaluation {
  namespace: string;
  /** The namespace of its scans. */
  scans: string;
  url: string;
  /** The address of the mail catcher's inbox. */
  inboxUrl: string;
  /** The notes that helm printed after the installation. */
  notes: string;
  /** Milliseconds from `helm install` until everything was ready. */
  readyMs: number;
  /** Sends a request with the API key of the installation. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** `helm upgrade` with these values in addition to those of the installation. */
  upgrade(values: Readonly<Record<string, unknown>>): Promise<void>;
  /** Installs again under the same names, after an uninstall. */
  install(): Promise<void>;
  close(): Promise<void>;
}

/** The address of a node, as this machine reaches it. */
export const nodeAddress = async (): Promise<string> =>
  process.env.CURBCUT_CLUSTER_NODE_IP ??
  (await kubectl(['get', 'nodes', '-o', 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}']));

export async function freeNodePorts(): Promise<number[]> {
  const taken = await kubectl(['get', 'services', '-A', '-o', 'jsonpath={.items[*].spec.ports[*].nodePort}']);
  return [...new Set(Array.from({ length: 50 }, () => randomInt(30_000, 32_768)))].filter((port) => !taken.includes(String(port)));
}

/** The chart allows the name servers in kube-system. A cluster without them has one on the node. */
export async function nameServers(node: string): Promise<Record<string, unknown>> {
  const service = await kubectl(['get', 'services', '-n', 'kube-system', 'kube-dns', '--ignore-not-found', '-o', 'name']);
  return service.trim() === '' ? { 'networkPolicy.dns.to': [{ ipBlock: { cidr: `${node}/32` } }] } : {};
}

/** The chart in evaluation mode, reached over node ports. */
export async function startEvaluation(values: Readonly<Record<string, unknown>> = {}): Promise<Evaluation> {
  const namespace = `curbcut-chart-${process.pid}`;
  const scans = `${namespace}-scans`;
  const node = await nodeAddress();
  const [apiPort, objectsPort, inboxPort] = await freeNodePorts();
  const url = `http://${node}:${apiPort}`;
  const all = {
    ...IMAGES,
    // The cluster's other tests need them too.
    'crds.enabled': false,
    // It applies to the whole cluster, where other tests use ScanQueues in namespaces of theirs.
    'admission.queueNamespace': false,
    'evaluation.enabled': true,
    'evaluation.objectsNodePort': objectsPort,
    'evaluation.inboxNodePort': inboxPort,
    'evaluation.objectsEndpoint': `http://${node}:${objectsPort}`,
    'api.service.type': 'NodePort',
    'api.service.nodePort': apiPort,
    'api.publicBaseUrl': url,
    ...(await nameServers(node)),
    ...values,
  };
  let key = '';
  /** @returns the notes */
  const install = async (): Promise<string> => {
    const notes = await helm('install', 'curbcut', CHART, '--namespace', namespace, '--wait', '--timeout', '5m', ...settings(all));
    const secret = await kubectl(['get', 'secret', 'curbcut-evaluation', '-n', namespace, '-o', 'jsonpath={.data.api-key}']);
    key = Buffer.from(secret, 'base64').toString();
    return notes;
  };
  const close = async (): Promise<void> => {
    await helm('uninstall', 'curbcut', '--namespace', namespace, '--ignore-not-found', '--wait');
    await Promise.all([removeNamespace(scans), removeNamespace(namespace)]);
  };

  await kubectl(['create', 'namespace', namespace]);
  await kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
  try {
    const started = performance.now();
    const notes = await install();
    const readyMs = performance.now() - started;
    return {
      namespace,
      scans,
      url,
      inboxUrl: `http://${node}:${inboxPort}`,
      notes,
      readyMs,
      ask(path, init = {}) {
        const headers = { 'X-API-Key': key, ...(init.body ? { 'Content-Type': 'application/json' } : {}), ...init.headers };
        return freshFetch(`${url}${path}`, { ...init, headers });
      },
      upgrade: async (more) => {
        await helm('upgrade', 'curbcut', CHART, '--namespace', namespace, '--wait', '--timeout', '5m', ...settings({ ...all, ...more }));
      },
      install: async () => void (await install()),
      close,
    };
  } catch (error) {
    console.error(await kubectl(['get', 'pods,events', '-n', namespace]).catch(String));
    await close();
    throw error;
  }
}

let shared: Promise<Evaluation> | null = null;

/** The installation that several files of one mocha process share. The first one that needs it starts it. */
export function sharedEvaluation(): Promise<Evaluation> {
  shared ??= startEvaluation();
  return shared;
}

after('remove the shared installation', async function () {
  this.timeout(300_000);
  await (await shared?.catch(() => null))?.close();
});
