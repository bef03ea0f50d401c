/** All objects of some namespaces, and those of the cluster that are named after them. */
import { kubectl } from './release.ts';

/** What describes other objects. */
const DESCRIPTIONS = new Set(['Event', 'PodMetrics', 'Endpoints', 'EndpointSlice']);
/** What the cluster itself puts into every namespace. */
const DEFAULTS = /^(ConfigMap .*\/kube-root-ca\.crt|ServiceAccount .*\/default)$/;

async function list(namespaced: boolean): Promise<string[]> {
  const kinds = await kubectl(['api-resources', '--verbs=list', `--namespaced=${namespaced}`, '-o', 'name']);
  const line = 'jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\\n"}{end}';
  const lines = await kubectl(['get', kinds.trim().split('\n').join(','), ...(namespaced ? ['--all-namespaces'] : []), '-o', line]);
  return lines.split('\n').filter((one) => one !== '' && !DESCRIPTIONS.has(one.split(' ')[0]!) && !DEFAULTS.test(one));
}

/** @returns lines such as `Deployment curbcut/curbcut-api` and `Namespace curbcut`, sorted */
export async function objectsOf(namespaces: readonly string[]): Promise<string[]> {
  const [own, ofCluster] = await Promise.all([list(true), list(false)]);
  const lines = own.filter((line) => namespaces.some((name) => line.includes(` ${name}/`)));
  lines.push(...ofCluster.map((line) => line.replace(' /', ' ')).filter((line) => namespaces.some((name) => line.includes(name))));
  return lines.toSorted();
}
