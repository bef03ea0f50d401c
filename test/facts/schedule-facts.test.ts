/** The template of a ScanSchedule has the fields and rules of an AccessibilityScan, and the limits in its definition are those of the code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { ACTIVE_LISTED_MAX, SCHEDULE_NAME_MAX } from '../../core/protocol/scan-schedules.ts';

interface Rule {
  rule: string;
}

interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  maxItems?: number;
  required?: string[];
  'x-kubernetes-validations'?: Rule[];
}

function definition(name: string): Schema {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'helm', 'files', 'crds', name), 'utf8');
  const { spec } = parse(text) as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } };
  return spec.versions[0]!.schema.openAPIV3Schema;
}

/** The paths of the fields without a description. */
function undescribed(schema: Schema, path: string): string[] {
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
    name === 'metadata' && path === '' ? [] : undescribed(one, `${path}.${name}`),
  );
  const items = schema.items?.properties === undefined ? [] : undescribed({ description: '-', ...schema.items }, `${path}[]`);
  return [...(schema.description === undefined ? [path] : []), ...inner, ...items];
}

describe('definition of ScanSchedule', () => {
  const schedule = definition('scanschedules.yaml');
  const scan = definition('accessibilityscans.yaml').properties!['spec']!;
  const template = schedule.properties!['spec']!.properties!['scanTemplate']!.properties!['spec']!;

  it('has every field of an AccessibilityScan in its template, except cancel', () => {
    const { cancel, ...fields } = scan.properties!;
    expect(cancel).to.be.an('object');
    expect(template.properties).to.deep.equal(fields);
    expect(template.required).to.deep.equal(scan.required);
  });

  it('permits changes of the template', () => {
    expect(JSON.stringify(template)).to.not.include('oldSelf');
    expect(JSON.stringify(scan)).to.include('oldSelf');
  });

  it('describes every field', () => {
    expect(undescribed(schedule, '')).to.deep.equal([]);
  });

  it('limits the name and the listed scans as the code does', () => {
    expect(schedule['x-kubernetes-validations']!.map(({ rule }) => rule)).to.include(`size(self.metadata.name) <= ${SCHEDULE_NAME_MAX}`);
    expect(schedule.properties!['status']!.properties!['active']!.maxItems).to.equal(ACTIVE_LISTED_MAX);
  });
});
