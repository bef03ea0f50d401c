/** The definitions of Curbcut's kinds have the names, limits, defaults and rules of the code, and a description of each field. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { DEFAULT_PLAN, GRANT_PAGES_MAX } from '../../core/organisation.ts';
import { DEFAULT_CLASS, DEFAULT_PRIORITY, DEFAULT_QUEUE } from '../../core/protocol/custom-resources.ts';
import { DeclaredKnownIssue, KnownIssuesSpec, NAME_LISTED_MAX, NAMES_LISTED_MAX } from '../../core/protocol/known-issues-resources.ts';
import { ACTIVE_LISTED_MAX, SCHEDULE_NAME_MAX } from '../../core/protocol/scan-schedules.ts';
import { KNOWN_ISSUES_MAX, readSite, SITE_MAX } from '../../core/scan/known-issues.ts';
import { URL_MAX_LENGTH } from '../../core/scan/targets.ts';
import {
  CREDITS_BELOW_DEFAULT,
  CREDITS_BELOW_MAX,
  WEBHOOK_EVENTS,
  WEBHOOK_FORMATS,
  WEBHOOK_NAME_MAX,
  WEBHOOKS_MAX,
} from '../../core/webhooks/webhooks.ts';
import { CRDS } from '../../local/stack.ts';
import { ORGANISATIONS_MAX } from '../../operator/queue/status.ts';

interface Schema {
  description?: string;
  properties: Record<string, Schema>;
  items: Schema;
  required?: string[];
  default?: unknown;
  enum?: unknown[];
  pattern?: string;
  maximum?: number;
  maxItems?: number;
  maxLength?: number;
  'x-kubernetes-validations'?: { rule: string }[];
}
interface Column {
  name: string;
  jsonPath: string;
  priority?: number;
  description?: string;
}
interface Definition {
  spec: { names: { kind: string }; versions: { schema: { openAPIV3Schema: Schema }; additionalPrinterColumns: Column[] }[] };
}

const definitions = new Map(
  CRDS.map((file) => {
    const { spec } = parse(readFileSync(file, 'utf8')) as Definition;
    const [version] = spec.versions;
    return [
      basename(file, '.yaml'),
      { kind: spec.names.kind, ...version!.schema.openAPIV3Schema, columns: version!.additionalPrinterColumns },
    ];
  }),
);
const specOf = (name: string): Schema => definitions.get(name)!.properties['spec']!;
const statusOf = (name: string): Schema => definitions.get(name)!.properties['status']!;

/** The descriptions of a schema's fields, by path. */
function fieldsOf(schema: Schema, path: string): [path: string, description: string | undefined][] {
  return Object.entries({ ...schema.properties, ...schema.items?.properties }).flatMap(([name, field]) => [
    [`${path}.${name}`, field.description] as [string, string | undefined],
    ...fieldsOf(field, `${path}.${name}`),
  ]);
}

describe('definitions', () => {
  for (const { kind, columns, ...schema } of definitions.values()) {
    it(`of ${kind} describe every field and column for kubectl explain`, () => {
      const all = [...fieldsOf(schema, ''), ...columns.map(({ name, description }) => [name, description] as const)];
      // The API server describes the metadata itself, and every kind has the column Age.
      expect(all.filter(([path, text]) => !text && !['.metadata', 'Age'].includes(path))).to.deep.equal([]);
    });

    it(`of ${kind} print whether it works and why not`, () => {
      const shown = columns.filter(({ priority = 0 }) => priority === 0).slice(-3);
      expect(shown.map(({ name }) => name)).to.deep.equal(['Ready', 'Reason', 'Age']);
      expect(shown[1]!.jsonPath, 'of the same condition').to.equal(shown[0]!.jsonPath.replace(/status$/, 'reason'));
    });
  }

  it('of scans and queues have the defaults of the code, and keep class, queue and priority', () => {
    const { properties, 'x-kubernetes-validations': rules } = specOf('accessibilityscans');
    const names = ['class', 'queue', 'priority'];
    expect(names.map((name) => properties[name]!.default)).to.deep.equal([DEFAULT_CLASS, DEFAULT_QUEUE, DEFAULT_PRIORITY]);
    expect(rules!.map(({ rule }) => rule)).to.include.members(names.map((name) => `self.${name} == oldSelf.${name}`));
    expect(statusOf('scanqueues').properties['organisations']!.maxItems).to.equal(ORGANISATIONS_MAX);
  });

  it('of schedules have the fields of a scan but cancel in their template, which may change', () => {
    const scan = specOf('accessibilityscans');
    const template = specOf('scanschedules').properties['scanTemplate']!.properties['spec']!;
    const { cancel: _, ...fields } = scan.properties;
    expect(template.properties).to.deep.equal(fields);
    expect(template.required).to.deep.equal(scan.required);
    expect(JSON.stringify(template)).to.not.include('oldSelf');
    const rules = definitions.get('scanschedules')!['x-kubernetes-validations']!.map(({ rule }) => rule);
    expect(rules).to.include(`size(self.metadata.name) <= ${SCHEDULE_NAME_MAX}`);
    expect(statusOf('scanschedules').properties['active']!.maxItems).to.equal(ACTIVE_LISTED_MAX);
  });

  it('of organisations have the defaults and limits of the code', () => {
    const { class: operatorClass, plan, blocked, creditGrants, webhooks } = specOf('organisations').properties;
    expect([operatorClass!.default, plan!.default, blocked!.default]).to.deep.equal([DEFAULT_CLASS, DEFAULT_PLAN, false]);
    expect(creditGrants!.items.properties['pages']!.maximum).to.equal(GRANT_PAGES_MAX);
    const { events, format, creditsBelow, name, url } = webhooks!.items.properties;
    expect([webhooks!.maxItems, name!.maxLength, url!.maxLength]).to.deep.equal([WEBHOOKS_MAX, WEBHOOK_NAME_MAX, URL_MAX_LENGTH]);
    expect([events!.items.enum, format!.enum, format!.default]).to.deep.equal([WEBHOOK_EVENTS, WEBHOOK_FORMATS, 'json']);
    expect([creditsBelow!.default, creditsBelow!.maximum]).to.deep.equal([CREDITS_BELOW_DEFAULT, CREDITS_BELOW_MAX]);
  });

  it('of known issues have the fields and limits of the code', () => {
    const { required, properties: fields } = specOf('knownissues');
    const { issues, site, class: operatorClass } = fields;
    expect(required).to.have.members(KnownIssuesSpec.required);
    expect(issues!.items.required).to.have.members(DeclaredKnownIssue.required);
    expect(Object.keys(issues!.items.properties)).to.have.members(Object.keys(DeclaredKnownIssue.properties));
    for (const [name, field] of Object.entries(DeclaredKnownIssue.properties))
      for (const limit of ['type', 'pattern', 'minLength', 'maxLength', 'maxItems'])
        expect((issues!.items.properties[name] as unknown as Record<string, unknown>)[limit], `${name} ${limit}`).to.deep.equal(
          (field as unknown as Record<string, unknown>)[limit],
        );
    expect([issues!.maxItems, site!.maxLength, operatorClass!.default]).to.deep.equal([KNOWN_ISSUES_MAX, SITE_MAX, DEFAULT_CLASS]);
    for (const name of ['endingNames', 'staleNames']) {
      const names = statusOf('knownissues').properties[name]!;
      expect([names.maxItems, names.items.maxLength]).to.deep.equal([NAMES_LISTED_MAX, NAME_LISTED_MAX]);
    }
    for (const text of ['www.example.com', 'HTTPS://Example.com', '[::1]:8080', 'https://example.com/shop', 'user@example.com', ''])
      expect(new RegExp(site!.pattern!).test(text), text).to.equal(readSite(text) !== null);
  });
});
