/** What the code and the custom resource definitions both state about queues. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { ORGANISATIONS_MAX } from '../../operator/queue/status.ts';
import { DEFAULT_CLASS, DEFAULT_PRIORITY, DEFAULT_QUEUE } from '../../core/protocol/custom-resources.ts';

interface Schema {
  default?: unknown;
  maxItems?: number;
  properties: Record<string, Schema>;
  'x-kubernetes-validations': { rule: string }[];
}

function schemaOf(file: string): Schema {
  const { spec } = parse(readFileSync(join(import.meta.dirname, '..', '..', 'helm', 'files', 'crds', file), 'utf8')) as {
    spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
  };
  return spec.versions[0]!.schema.openAPIV3Schema;
}

describe('queue facts', () => {
  const scan = schemaOf('accessibilityscans.yaml').properties['spec']!;

  it('gives class, queue and priority of a scan the same default in the code and in the custom resource definition', () => {
    const defaults = Object.fromEntries(['class', 'queue', 'priority'].map((name) => [name, scan.properties[name]!.default]));
    expect(defaults).to.deep.equal({ class: DEFAULT_CLASS, queue: DEFAULT_QUEUE, priority: DEFAULT_PRIORITY });
  });

  it('does not let the class, queue or priority of a scan change', () => {
    const rules = scan['x-kubernetes-validations'].map(({ rule }) => rule);
    expect(rules).to.include.members(['class', 'queue', 'priority'].map((name) => `self.${name} == oldSelf.${name}`));
  });

  it('allows as many organisations in the status of a ScanQueue as the operator writes', () => {
    const { organisations } = schemaOf('scanqueues.yaml').properties['status']!.properties;
    expect(organisations!.maxItems).to.equal(ORGANISATIONS_MAX);
  });
});
