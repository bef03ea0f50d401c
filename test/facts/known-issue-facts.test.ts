/** What the definition of KnownIssues shares with the code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { DEFAULT_CLASS } from '../../core/protocol/custom-resources.ts';
import {
  DeclaredKnownIssue,
  KNOWN_ISSUES_KIND,
  KNOWN_ISSUES_PLURAL,
  KnownIssuesSpec,
  NAME_LISTED_MAX,
  NAMES_LISTED_MAX,
} from '../../core/protocol/known-issues-resources.ts';
import { KNOWN_ISSUE_MAX_DAYS, KNOWN_ISSUES_MAX, readSite, SITE_MAX, targetMistake } from '../../core/scan/known-issues.ts';

interface Schema {
  properties: Record<string, Schema>;
  items: Schema;
  required?: string[];
  default?: unknown;
  description?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  type: string;
  'x-kubernetes-validations'?: { rule: string; message: string }[];
}
interface Definition {
  spec: {
    names: { kind: string; plural: string; shortNames: string[]; categories: string[] };
    versions: { schema: { openAPIV3Schema: Schema } }[];
  };
}

/** The limits of a text or list, without descriptions. */
const limitsOf = ({ type, pattern, minLength, maxLength, maxItems }: Partial<Schema>) => ({
  type,
  pattern,
  minLength,
  maxLength,
  maxItems,
});

describe('the definition of KnownIssues', () => {
  const path = join(import.meta.dirname, '..', '..', 'helm', 'files', 'crds', 'knownissues.yaml');
  const { spec } = parse(readFileSync(path, 'utf8')) as Definition;
  const { openAPIV3Schema: schema } = spec.versions[0]!.schema;
  const { class: operatorClass, site, issues } = schema.properties.spec!.properties;

  it('has the names of the code', () => {
    expect(spec.names).to.deep.include({ kind: KNOWN_ISSUES_KIND, plural: KNOWN_ISSUES_PLURAL, categories: ['curbcut'] });
  });

  it('has the fields and limits of the schema', () => {
    const { properties, required } = DeclaredKnownIssue;
    expect(issues!.items.required).to.have.members(required);
    expect(Object.keys(issues!.items.properties)).to.have.members(Object.keys(properties));
    for (const [name, field] of Object.entries(properties))
      expect(limitsOf(issues!.items.properties[name]!), name).to.deep.equal(limitsOf(field as Partial<Schema>));
    expect(schema.properties.spec!.required).to.have.members(KnownIssuesSpec.required);
    expect([issues!.maxItems, site!.maxLength]).to.deep.equal([KNOWN_ISSUES_MAX, SITE_MAX]);
    expect(operatorClass!.default).to.equal(DEFAULT_CLASS);
    const { endingNames, staleNames } = schema.properties.status!.properties;
    for (const names of [endingNames!, staleNames!])
      expect([names.maxItems, names.items.maxLength]).to.deep.equal([NAMES_LISTED_MAX, NAME_LISTED_MAX]);
  });

  it('states the rules of the code', () => {
    expect(issues!.items['x-kubernetes-validations']![0]!.message).to.equal(targetMistake({}));
    expect(issues!.items.properties.expiresAt!.description).to.include(`at most ${KNOWN_ISSUE_MAX_DAYS} days`);
  });

  it('accepts the sites that the code reads', () => {
    const pattern = new RegExp(site!.pattern!);
    for (const text of ['www.example.com', 'HTTPS://Example.com', 'http://localhost:8080/', '[::1]:8080']) {
      expect(readSite(text), text).to.be.a('string');
      expect(text).to.match(pattern);
    }
    for (const text of ['https://example.com/shop', 'example.com?a', 'user@example.com', '', 'https://']) {
      expect(readSite(text), text).to.equal(null);
      expect(text).to.not.match(pattern);
    }
  });

  it('describes every field for kubectl explain', () => {
    const undescribed = (at: Schema, here: string): string[] =>
      Object.entries(at.properties ?? {}).flatMap(([name, field]) => {
        const own = field.description === undefined && `${here}.${name}` !== '.metadata' ? [`${here}.${name}`] : [];
        return [...own, ...undescribed(field.items ?? field, `${here}.${name}`)];
      });
    expect(undescribed(schema, '')).to.deep.equal([]);
  });
});
