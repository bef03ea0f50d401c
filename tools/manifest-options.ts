/**
 * Generates parts of the custom resource definitions, between marker comments: the options, the sign-in and the phases of
 * AccessibilityScan, and the scan in the template of ScanSchedule. The rest of these files is written by hand.
 */
import { Document, isScalar, parse, visit } from 'yaml';
import { CrawlRules, ScanOptions, type OptionName } from '../core/scan/options.ts';
import { SignInSpec, SignInStep } from '../core/scan/sign-in.ts';
import { STEP_KINDS } from '../core/scan/steps.ts';
import { PHASES, TERMINAL_PHASES } from '../core/scan/phases.ts';
import { THRESHOLD_NAMES } from '../core/scan/thresholds.ts';

/** What only Kubernetes needs, by option. */
const OVERLAYS: Partial<Record<OptionName, object>> = {
  url: {
    minLength: 1,
    'x-kubernetes-validations': [
      { rule: "self.matches('^[hH][tT][tT][pP][sS]?://')", message: 'url must begin with http:// or https://' },
      {
        rule: "!self.matches('^[a-zA-Z]+://[^/?#]*@')",
        message: 'url must not contain a user name or password; use auth.secretRef',
      },
      {
        rule: "self.matches('^[a-zA-Z]+://[^/?#]') && !self.matches('[ \\\\t\\\\r\\\\n]')",
        message: 'url must name a host and must not contain white space',
      },
    ],
  },
  thresholds: {
    'x-kubernetes-validations': [
      {
        rule: THRESHOLD_NAMES.map((name) => `has(self.${name})`).join(' || '),
        message: `thresholds must set at least one of ${THRESHOLD_NAMES.join(', ')}; remove it to scan without a verdict`,
      },
    ],
  },
};

const RULES = 'x-kubernetes-validations';

interface Schema {
  type: string;
  required?: string[];
  maximum?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
  [key: string]: unknown;
}

const INT32_MAX = 2 ** 31 - 1;

/** A JSON schema as Kubernetes writes it: integers have a format, and a field with a default is not required. */
function structural({ type, description, properties, items, required: _, ...given }: Schema): Schema {
  const rest = withoutClosing(given);
  return {
    type,
    ...(type === 'integer' && { format: (rest.maximum ?? Infinity) <= INT32_MAX ? 'int32' : 'int64' }),
    ...rest,
    ...(description !== undefined && { description }),
    ...(items && { items: structural(items) }),
    ...(properties && { properties: structuralAll(properties) }),
  };
}

const structuralAll = (properties: Record<string, Schema>): Record<string, Schema> =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, structural(schema)]));

/** Removes keywords that definitions cannot have beside properties, or that CEL rules state with better messages. */
function withoutClosing<T extends object>(schema: T): T {
  const closing = ['additionalProperties', 'minProperties', 'maxProperties'];
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !closing.includes(name))) as T;
}

/** `spec.properties` of every option. */
export function optionSchemas(): Record<string, Schema> {
  const all = structuralAll(JSON.parse(JSON.stringify(ScanOptions.properties)) as Record<string, Schema>);
  const { prepare } = all['crawl']!.properties!;
  prepare!.items = stepSchema(CrawlRules.properties.prepare.items);
  return Object.fromEntries(Object.entries(all).map(([name, schema]) => [name, { ...schema, ...OVERLAYS[name as OptionName] }]));
}

const SELECTOR_OR_TEXT = 'has(self.selector) != has(self.text)';

/** A step, of which the API server requires exactly one kind. */
function stepSchema(step: unknown): Schema {
  const schema = withRequired(JSON.parse(JSON.stringify(step)) as Schema);
  schema[RULES] = [
    {
      rule: `[${STEP_KINDS.map((kind) => `has(self.${kind})`).join(', ')}].filter(given, given).size() == 1`,
      message: `a step must have exactly one of ${STEP_KINDS.join(', ')}`,
    },
  ];
  schema.properties!['assert']![RULES] = [{ rule: SELECTOR_OR_TEXT, message: 'assert must have either selector or text' }];
  return schema;
}

/** `spec.auth`. Fields without a default are required, other than in `structural`, because options have their own overlays. */
export function signInSchema(): Schema {
  const schema = withRequired(JSON.parse(JSON.stringify(SignInSpec)) as Schema);
  const { marker, steps } = schema.properties!;
  steps!.items = stepSchema(SignInStep);
  marker![RULES] = [{ rule: SELECTOR_OR_TEXT, message: 'marker must have either selector or text' }];
  return schema;
}

/** A structural schema whose fields without a default are required unless they are optional. */
function withRequired(schema: Schema): Schema {
  const { type, required = [], properties, items, ...given } = schema;
  const rest = withoutClosing(given);
  const needed = required.filter((name) => properties?.[name]?.['default'] === undefined);
  return {
    type,
    ...(needed.length > 0 && { required: needed }),
    ...rest,
    ...(items && { items: withRequired(items) }),
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, withRequired(inner)])) }),
  };
}

/** One CEL rule per option: a scan cannot be changed after it was submitted. */
function immutabilityRules(): { rule: string; message: string }[] {
  return Object.entries(optionSchemas()).map(([name, schema]) => {
    const alwaysThere = name === 'url' || schema['default'] !== undefined;
    const same = `self.${name} == oldSelf.${name}`;
    return {
      rule: alwaysThere ? same : `has(self.${name}) == has(oldSelf.${name}) && (has(self.${name}) ? ${same} : true)`,
      message: `${name} cannot be changed; apply another AccessibilityScan`,
    };
  });
}

/** The CEL rule that keeps an ended scan from running again or ending differently. */
function finalPhaseRule(): { rule: string; message: string } {
  const final = TERMINAL_PHASES.map((phase) => `'${phase}'`).join(', ');
  return {
    rule: `!has(oldSelf.phase) || !(oldSelf.phase in [${final}]) || (has(self.phase) && self.phase == oldSelf.phase)`,
    message: `phase cannot be changed after the scan has ended (${TERMINAL_PHASES.join(', ')})`,
  };
}

/** YAML in the style of the file: lists of plain values on one line. */
function yamlLines(value: unknown): string[] {
  const document = new Document(value);
  visit(document, { Seq: (_, list) => void (list.flow = list.items.every(isScalar)) });
  return document.toString({ lineWidth: 0, singleQuote: true, flowCollectionPadding: false }).trimEnd().split('\n');
}

/** Replaces the lines between the markers `# begin NAME` and `# end NAME`, with the markers' indentation. */
function replaceBlock(text: string, name: string, value: unknown): string {
  const pattern = new RegExp(`^( *)# begin ${name}\\b.*\\n[^]*?^ *# end ${name}$`, 'm');
  const match = pattern.exec(text);
  if (match === null) throw new Error(`there is no block "${name}"`);
  const lines = [`# begin ${name} (make docs)`, ...yamlLines(value), `# end ${name}`];
  return text.replace(pattern, () => lines.map((line) => `${match[1]}${line}`.trimEnd()).join('\n'));
}

/** The definition of AccessibilityScan with today's options and phases. */
export function withOptions(definition: string): string {
  const blocks = {
    'immutable options': immutabilityRules(),
    'scan options': optionSchemas(),
    'sign-in': { auth: signInSchema() },
    'final phases': [finalPhaseRule()],
    phases: { enum: PHASES },
  };
  return Object.entries(blocks).reduce((text, [name, value]) => replaceBlock(text, name, value), definition);
}

interface Definition {
  spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: Schema } } } }[] };
}

/** Fields of an AccessibilityScan that a template cannot set: its scans would end as soon as they are created. */
const NOT_IN_TEMPLATE: readonly string[] = ['cancel'];

/** Removes the rules that compare an object with its former state: a template may be changed, its scans may not. */
function withoutTransitionRules(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTransitionRules);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      if (name !== RULES) return [[name, withoutTransitionRules(inner)]];
      const kept = (inner as { rule: string }[]).filter(({ rule }) => !rule.includes('oldSelf'));
      return kept.length === 0 ? [] : [[name, kept]];
    }),
  );
}

/** The definition of ScanSchedule, whose template has the fields and rules of today's AccessibilityScan. */
export function withScanTemplate(definition: string, scanDefinition: string): string {
  const { spec } = (parse(scanDefinition) as Definition).spec.versions[0]!.schema.openAPIV3Schema.properties;
  const { required, [RULES]: rules, properties } = withoutTransitionRules(spec) as Schema;
  const kept = Object.fromEntries(Object.entries(properties!).filter(([name]) => !NOT_IN_TEMPLATE.includes(name)));
  return replaceBlock(definition, 'scan template', { required, ...(rules !== undefined && { [RULES]: rules }), properties: kept });
}
