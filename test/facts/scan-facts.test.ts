/** Each scan option, threshold and phase must be in every interface and document. A failure names what is missing, and where. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { TSchema } from 'typebox';
import { parse } from 'yaml';
import { createScanForm, newScanBody } from '../../api/dashboard/scans/scan-form.ts';
import { CompleteEvent, ScanResult } from '../../core/scan/result.ts';
import { ProgressEvent } from '../../api/streams/scan-events.ts';
import { scanSubmission } from '../../api/scans/scans.ts';
import type { OptionTable } from '../../cli/commands/command.ts';
import { SCAN_OPTIONS } from '../../cli/options.ts';
import { PodInput, PodProgress } from '../../core/protocol/pod-messages.ts';
import { ReportOptions, ReportThresholds } from '../../core/scan/submitted-options.ts';
import { snakeCase } from '../../core/schemas.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { CrawlRules, HTTP_OPTIONS, ScanOptions } from '../../core/scan/options.ts';
import { LIVE_PHASES, PHASES, POD_PHASES, TERMINAL_PHASES } from '../../core/scan/phases.ts';
import { THRESHOLDS, THRESHOLD_NAMES } from '../../core/scan/thresholds.ts';
import { WORDS } from '../../report/words/words.ts';
import { curbcut, startService } from '../cli/service.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Schema {
  properties?: Record<string, Schema>;
  enum?: unknown[];
  'x-extensible-enum'?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  description?: string;
  items?: Schema;
  'x-kubernetes-validations'?: { rule: string }[];
}

const schema = (one: TSchema): Schema => one as Schema;
const propertiesOf = (one: TSchema): Record<string, Schema> => schema(one).properties ?? {};

function definition(): Schema {
  const { spec } = parse(read('crds/accessibilityscans.yaml')) as {
    spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
  };
  return spec.versions[0]!.schema.openAPIV3Schema;
}

/** Returns the paths of the properties, bounds, defaults and allowed values of `wanted` that `actual` lacks. */
function missing(wanted: Schema, actual: Schema | undefined, path: string): string[] {
  if (actual === undefined) return [path];
  const keys = ['default', 'minimum', 'maximum', 'maxLength', 'maxItems', 'description'] as const;
  return [
    ...keys.filter((key) => JSON.stringify(wanted[key]) !== JSON.stringify(actual[key])).map((key) => `${path}: ${key}`),
    ...(wanted.enum ?? []).filter((value) => !actual.enum?.includes(value)).map((value) => `${path}: enum ${String(value)}`),
    ...(wanted.items === undefined ? [] : missing(wanted.items, actual.items, `${path}[]`)),
    ...Object.entries(wanted.properties ?? {}).flatMap(([name, one]) => missing(one, actual.properties?.[name], `${path}.${name}`)),
  ];
}

/** A valid value for each placeholder in the help of `curbcut scan`. */
const VALUES: Readonly<Record<string, string>> = {
  N: '1',
  SEVERITY: 'minor',
  TARGET: '2.2-AAA',
  K: 'key',
  GLOB: '/docs/**',
  SELECTOR: 'h1',
  CHOICE: 'reject',
  FRAGMENTS: 'all',
  KINDS: 'dark',
  'KEY=VALUE': 'branch=main',
  LANGUAGE: 'de',
  WHICH: 'branch=main',
  WHAT: 'causes',
  HOST: 'www.example.com',
  NAME: 'shop-login',
  FILE: join(import.meta.dirname, '../cli/prepare.yaml'),
};

const URLS = join(import.meta.dirname, '../cli/urls.txt');

/** `--max-pages N` → `['--max-pages', '1']`. */
function withValue(option: string): string[] {
  const [flag, placeholder] = option.split(' ');
  if (placeholder === undefined) return [flag!];
  const value = VALUES[placeholder];
  if (value === undefined) throw new Error(`add a value for ${placeholder} to VALUES, for ${option}`);
  return [flag!, value];
}

describe('scan options', () => {
  const spec = definition().properties!['spec']!;

  it('are in the custom resource definition, with bounds, defaults, values and descriptions', () => {
    const names = Object.keys(ScanOptions.properties);
    const gaps = names.flatMap((name) => missing(propertiesOf(ScanOptions)[name]!, spec.properties?.[name], `spec.${name}`));
    expect(gaps, 'missing in crds/accessibilityscans.yaml (run make docs)').to.deep.equal([]);
  });

  it('cannot be changed after the submission', () => {
    const rules = spec['x-kubernetes-validations']!.map(({ rule }) => rule).join('\n');
    expect(Object.keys(ScanOptions.properties).filter((name) => !rules.includes(`self.${name} == oldSelf.${name}`))).to.deep.equal([]);
  });

  it('are in the submission over HTTP', () => {
    const body = propertiesOf(scanSubmission(500));
    expect([...HTTP_OPTIONS, ...THRESHOLD_NAMES].map((name) => snakeCase(name)).filter((name) => !(name in body))).to.deep.equal([]);
  });

  it('have an option of curbcut scan if they are in the submission over HTTP', async () => {
    const service = await startService(() => ({ status: 404 }));
    try {
      const options = Object.entries<OptionTable[string]>(SCAN_OPTIONS).flatMap(([name, { value }]) =>
        /^(?:local|auth|known-issues|known-issues-site)$/.test(name)
          ? []
          : name === 'urls'
            ? ['--urls', URLS]
            : withValue(value === undefined ? `--${name}` : `--${name} ${value}`),
      );
      // Without a scheme, for `http_fallback`.
      await curbcut(['scan', 'example.com', ...options], { url: service.url });
      const body = service.requests[0]?.body as object;
      expect(body).to.include({ url: 'https://example.com', http_fallback: true });
      const names = [...new Set([...Object.keys(propertiesOf(scanSubmission(500))), ...HTTP_OPTIONS.map((name) => snakeCase(name))])];
      expect(
        names.filter((name) => !(name in body)),
        'without an option in cli/options.ts',
      ).to.deep.equal([]);
    } finally {
      await service.close();
    }
  });

  it('have a labelled field in the form of the dashboard, with bounds and values, if they are in the submission over HTTP', () => {
    const form = createScanForm(40);
    const data = { errors: [], csrfToken: '', idempotencyKey: '', credits: null, allowPrepareSteps: true, mayUseSecrets: true };
    const page = newScanBody({ ...data, form, values: form.empty }).toString();
    for (const [name, { minimum, maximum, enum: values = [] }] of Object.entries(propertiesOf(scanSubmission(40)))) {
      // It follows from how the address is typed.
      if (name === 'http_fallback') continue;
      expect(page, name).to.include(`<label for="${name}">`).and.include(` name="${name}"`);
      for (const value of values.filter((one) => one !== null)) expect(page, name).to.include(`<option value="${String(value)}"`);
      for (const [value, word] of [
        [minimum, 'least'],
        [maximum, 'most'],
      ] as const) {
        if (value === undefined || value === Number.MAX_SAFE_INTEGER) continue;
        const beyond = word === 'least' ? value - 1 : value + 1;
        const checked = form.check({ ...form.empty, url: 'https://example.com/', [name]: String(beyond) });
        const { label } = Object.values(form.groups)
          .flat()
          .find((field) => field.name === name)!;
        expect(checked, name).to.deep.equal({ ok: false, errors: [{ field: name, text: `${label} must be at ${word} ${value}.` }] });
      }
    }
  });

  it("are in the pod's input and in the export", () => {
    expect(propertiesOf(PodInput)['options']).to.equal(ScanOptions);
    const known = { ...propertiesOf(ReportOptions), url: {}, max_pages: {}, thresholds: {}, crawl: {} };
    const names = [...Object.keys(ScanOptions.properties), ...Object.keys(CrawlRules.properties)];
    expect(names.map((name) => snakeCase(name)).filter((name) => !(name in known))).to.deep.equal([]);
  });
});

describe('thresholds', () => {
  for (const name of THRESHOLD_NAMES) {
    const [flag] = THRESHOLDS[name].flag;
    it(`${name} is in the export, the help of curbcut scan, the PDF and the docs`, () => {
      const lacks = Object.entries({
        'core/scan/submitted-options.ts': snakeCase(name) in propertiesOf(ReportThresholds),
        'curbcut scan --help': Object.hasOwn(SCAN_OPTIONS, flag),
        'docs/reference.md': read('docs/reference.md').includes(`| \`thresholds.${name}\` | \`${snakeCase(name)}\` | \`--${flag}\` |`),
        ...Object.fromEntries(LOCALES.map((locale) => [`the PDF in ${locale}`, name in WORDS[locale].score.thresholds])),
      });
      expect(lacks.filter(([, states]) => !states).map(([place]) => place)).to.deep.equal([]);
    });
  }
});

describe('phases', () => {
  const enumOf = (one: TSchema, name: string): unknown[] => propertiesOf(one)[name]!.enum ?? propertiesOf(one)[name]!['x-extensible-enum']!;

  it('are either live or terminal', () => {
    expect([...LIVE_PHASES, ...TERMINAL_PHASES]).to.deep.equal(PHASES);
    expect(LIVE_PHASES).to.include.members(POD_PHASES);
  });

  it('are in the status of the custom resource, the API, its events and the pod messages', () => {
    expect(definition().properties!['status']!.properties!['phase']!.enum).to.deep.equal(PHASES);
    expect(enumOf(ScanResult, 'status')).to.deep.equal(PHASES);
    expect(enumOf(ProgressEvent, 'status')).to.deep.equal(LIVE_PHASES);
    expect(enumOf(CompleteEvent, 'status')).to.deep.equal(TERMINAL_PHASES);
    expect(enumOf(PodProgress, 'phase')).to.deep.equal(POD_PHASES);
  });
});
