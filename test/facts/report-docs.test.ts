import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { FRAME_FAILURES, PAGE_CAVEATS, PAGE_FAILURES } from '../../report/schema/page.ts';
import { Report } from '../../report/schema/report.ts';
import { ReportOptions, ReportThresholds } from '../../core/scan/submitted-options.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '..', '..', 'docs', name), 'utf8');

/** The names of all fields of a JSON Schema. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {} } = schema as { properties?: object };
  return [...Object.keys(properties), ...Object.values(properties).flatMap(fieldsOf), ...Object.values(schema).flatMap(fieldsOf)];
}

describe('docs/reports.md', () => {
  const page = read('reports.md');
  // reference.md has the options and thresholds.
  const elsewhere = new Set([...Object.keys(ReportOptions.properties), ...Object.keys(ReportThresholds.properties)]);

  it('names all fields of the JSON export', () => {
    const names = [...new Set(fieldsOf(JSON.parse(JSON.stringify(Report))))].filter(
      (name) => !elsewhere.has(name) && name !== 'properties' && name !== 'items',
    );
    expect(names.length).to.be.greaterThan(5);
    expect(names.filter((name) => !page.includes(`\`${name}\``) && !page.includes(`.${name}\``))).to.deep.equal([]);
  });
});

describe('docs/scanning.md', () => {
  const rows = new Set(
    read('scanning.md')
      .split('\n')
      .flatMap((line) => [...(/^\| (`.*?) \|/.exec(line)?.[1]!.matchAll(/`(\w+)`/g) ?? [])].map(([, name]) => name)),
  );
  for (const [what, names] of Object.entries({
    'reasons of pages': PAGE_FAILURES,
    'reasons of frames': FRAME_FAILURES,
    caveats: PAGE_CAVEATS,
  }))
    it(`explains all ${what}`, () => expect(names.filter((name) => !rows.has(name))).to.deep.equal([]));
});
