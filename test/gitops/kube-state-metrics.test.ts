/** examples/kube-state-metrics: each metric reads a field that the definitions have, with a value that is a number or one of the list. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { GROUP, VERSION } from '../../core/protocol/custom-resources.ts';
import { CRDS } from '../../local/stack.ts';
import { ROOT } from './manifests.ts';

interface Schema {
  type: string;
  format?: string;
  maxLength?: number;
  enum?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
}
interface Definition {
  spec: {
    scope: string;
    names: { kind: string; plural: string };
    versions: { schema: { openAPIV3Schema: Schema } }[];
  };
}
interface Source {
  path: string[];
  labelsFromPath?: Record<string, string[]>;
  valueFrom?: string[];
}
type Each = { type: 'Gauge'; gauge: Source } | { type: 'StateSet'; stateSet: Source & { labelName: string; list: string[] } };
interface Resource {
  groupVersionKind: { group: string; version: string; kind: string };
  metricNamePrefix: string;
  labelsFromPath: Record<string, string[]>;
  errorLogV: number;
  metrics: { name: string; help: string; each: Each }[];
}

const FOLDER = join(ROOT, 'examples', 'kube-state-metrics');
const config = parse(readFileSync(join(FOLDER, 'config.yaml'), 'utf8')) as { kind: string; spec: { resources: Resource[] } };
const definitions = new Map(
  CRDS.map((path) => (parse(readFileSync(path, 'utf8')) as Definition).spec).map((spec) => [spec.names.kind, spec] as const),
);
const schemaOf = (kind: string): Schema => definitions.get(kind)!.versions[0]!.schema.openAPIV3Schema;

/** @throws if the definition has no such field */
function at(schema: Schema, path: readonly string[]): Schema {
  return path.reduce((inner, name) => {
    const next = inner.properties?.[name];
    if (next === undefined) throw new Error(`no field ${name} of ${path.join('.')}`);
    return next;
  }, schema);
}

/** Whether kube-state-metrics makes a number of it: booleans, times and decimal strings, too. A score is a string. */
const isNumber = ({ type, format }: Schema, path: readonly string[]): boolean =>
  ['integer', 'number', 'boolean'].includes(type) || format === 'date-time' || (type === 'string' && path.at(-1) === 'score');

/** What is wrong with a metric; null if nothing is. */
function problemOf(schema: Schema, each: Each): string | null {
  const source = each.type === 'Gauge' ? each.gauge : each.stateSet;
  const found = at(schema, source.path);
  const target = found.type === 'array' ? found.items! : found;
  for (const path of Object.values(source.labelsFromPath ?? {})) at(target, path);
  // On an object, kube-state-metrics would look for the value in each of its fields.
  if (found.type === 'object') return 'an object';
  const value = at(target, source.valueFrom ?? []);
  if (each.type === 'Gauge') return isNumber(value, source.path) ? null : `no number: ${value.type}`;
  const { list } = each.stateSet;
  return JSON.stringify(list) === JSON.stringify(value.enum) ? null : `not the values ${value.enum?.join(', ')}`;
}

describe('examples/kube-state-metrics', () => {
  it('has metrics for each kind, with conditions', () => {
    expect(config.kind).to.equal('CustomResourceStateMetrics');
    expect(config.spec.resources.map(({ groupVersionKind }) => groupVersionKind.kind)).to.have.members([...definitions.keys()]);
    for (const { groupVersionKind, metrics, metricNamePrefix } of config.spec.resources) {
      expect(groupVersionKind).to.include({ group: GROUP, version: VERSION });
      expect(metricNamePrefix).to.equal(`kube_${groupVersionKind.kind.toLowerCase()}`);
      expect(metrics.map(({ name }) => name)).to.include('condition');
      expect(new Set(metrics.map(({ name }) => name)).size).to.equal(metrics.length);
    }
  });

  for (const { groupVersionKind, labelsFromPath, metrics } of config.spec.resources) {
    const { kind } = groupVersionKind;

    it(`labels a ${kind} with its name and namespace, and reads fields of its definition`, () => {
      const name = { name: ['metadata', 'name'] };
      const namespace = { namespace: ['metadata', 'namespace'] };
      expect(labelsFromPath).to.deep.equal(definitions.get(kind)!.scope === 'Namespaced' ? { ...namespace, ...name } : name);
      for (const metric of metrics) expect(problemOf(schemaOf(kind), metric.each), metric.name).to.equal(null);
    });
  }
});
