/** What the definition of Organisations shares with the code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { DEFAULT_PLAN, GRANT_PAGES_MAX, ORGANISATION_ID } from '../../core/organisation.ts';
import { URL_MAX_LENGTH } from '../../core/scan/targets.ts';
import {
  CREDITS_BELOW_DEFAULT,
  CREDITS_BELOW_MAX,
  WEBHOOK_EVENTS,
  WEBHOOK_FORMATS,
  WEBHOOK_NAME_MAX,
  WEBHOOKS_MAX,
} from '../../core/webhooks/webhooks.ts';
import { DEFAULT_CLASS, GROUP, ORGANISATIONS_PLURAL, VERSION } from '../../core/protocol/custom-resources.ts';

interface Schema {
  properties: Record<string, Schema>;
  items: Schema;
  default?: unknown;
  maximum?: number;
  maxItems?: number;
  maxLength?: number;
  enum?: unknown[];
  pattern?: string;
  description?: string;
  type: string;
}
interface Definition {
  spec: {
    group: string;
    scope: string;
    names: { plural: string; shortNames: string[]; categories: string[] };
    versions: { name: string; schema: { openAPIV3Schema: Schema }; additionalPrinterColumns: { name: string; priority?: number }[] }[];
  };
}

describe('the definition of Organisations', () => {
  const { spec } = parse(
    readFileSync(join(import.meta.dirname, '..', '..', 'helm', 'files', 'crds', 'organisations.yaml'), 'utf8'),
  ) as Definition;
  const [version] = spec.versions;
  const { openAPIV3Schema: schema } = version!.schema;
  const fields = schema.properties.spec!.properties;

  it('has the names of the code', () => {
    expect([spec.group, spec.names.plural, version!.name, spec.scope]).to.deep.equal([GROUP, ORGANISATIONS_PLURAL, VERSION, 'Cluster']);
    expect(spec.names).to.deep.include({ shortNames: ['a11yorg'], categories: ['curbcut'] });
  });

  it('has the defaults and limits of the code', () => {
    expect(fields.class!.default).to.equal(DEFAULT_CLASS);
    expect(fields.plan!.default).to.equal(DEFAULT_PLAN);
    expect(fields.blocked!.default).to.equal(false);
    expect(fields.creditGrants!.items.properties.pages!.maximum).to.equal(GRANT_PAGES_MAX);
    const { items, maxItems } = fields.webhooks!;
    const { events, format, creditsBelow, name, url } = items.properties;
    expect([maxItems, name!.maxLength, url!.maxLength]).to.deep.equal([WEBHOOKS_MAX, WEBHOOK_NAME_MAX, URL_MAX_LENGTH]);
    expect([events!.items.enum, format!.enum, format!.default]).to.deep.equal([WEBHOOK_EVENTS, WEBHOOK_FORMATS, 'json']);
    expect([creditsBelow!.default, creditsBelow!.maximum]).to.deep.equal([CREDITS_BELOW_DEFAULT, CREDITS_BELOW_MAX]);
    for (const label of ['team-a', 'a', '1-b']) {
      expect(label).to.match(new RegExp(fields.namespaces!.items.pattern!));
      expect(label).to.match(ORGANISATION_ID);
    }
  });

  it('prints plan, state and credits', () => {
    const shown = version!.additionalPrinterColumns.filter(({ priority = 0 }) => priority === 0);
    expect(shown.map(({ name }) => name)).to.deep.equal(['Plan', 'Blocked', 'Balance', 'Held', 'Live', 'Ready', 'Reason', 'Age']);
  });

  it('describes every field for kubectl explain', () => {
    const undescribed = (at: Schema, path: string): string[] =>
      Object.entries(at.properties ?? {}).flatMap(([name, field]) => {
        const here = `${path}.${name}`;
        const own = field.description === undefined && here !== '.metadata' ? [here] : [];
        return [...own, ...undescribed(field.items ?? field, here)];
      });
    expect(undescribed(schema, '')).to.deep.equal([]);
  });
});
