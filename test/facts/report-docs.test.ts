import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { FRAME_FAILURES, PAGE_CAVEATS, PAGE_FAILURES, Report } from '../../core/report/schema.ts';
import { ReportOptions, ReportThresholds } from '../../core/report/options.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'reports.md'), 'utf8');

/** The names of all fields of a JSON Schema. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {} } = schema as { properties?: object };
  return [...Object.keys(properties), ...Object.values(properties).flatMap(fieldsOf), ...Object.values(schema).flatMap(fieldsOf)];
}

describe('the page about the JSON export', () => {
  // reference.md has the options and thresholds.
  const elsewhere = new Set([...Object.keys(ReportOptions.properties), ...Object.keys(ReportThresholds.properties)]);

  for (const [what, names] of Object.entries({
    fields: [...new Set(fieldsOf(JSON.parse(JSON.stringify(Report))))].filter(
      (name) => !elsewhere.has(name) && name !== 'properties' && name !== 'items',
    ),
    'reasons of pages': PAGE_FAILURES,
    'reasons of frames': FRAME_FAILURES,
    caveats: PAGE_CAVEATS,
  }))
    it(`names all ${what}`, () => {
      expect(names.length).to.be.greaterThan(5);
      expect(names.filter((name) => !page.includes(`\`${name}\``) && !page.includes(`.${name}\``))).to.deep.equal([]);
    });
});
