/** The chart's schema and the table of its values, from the comments of helm/values.yaml. */
import { isMap, isScalar, parse, parseDocument, type Pair, type YAMLMap } from 'yaml';

/** A part of a JSON schema. */
export interface Schema {
  [keyword: string]: unknown;
  properties?: Record<string, Schema>;
}

/** A value that has no values inside it, or a group of values that has a description. */
interface Row {
  path: string;
  description: string;
  /** Undefined: a group. */
  default: string | undefined;
}

const PEER = {
  type: 'object',
  minProperties: 1,
  additionalProperties: false,
  properties: { ipBlock: { type: 'object' }, namespaceSelector: { type: 'object' }, podSelector: { type: 'object' } },
};
const STRINGS = { type: 'object', additionalProperties: { type: ['string', 'null'] } };
const NAME = { pattern: '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$' };
const HOST_PATH = {
  type: 'object',
  additionalProperties: false,
  required: ['path'],
  properties: { path: { type: 'string' }, pathType: { enum: ['Prefix', 'Exact', 'ImplementationSpecific'] } },
};
const ALERT = {
  type: 'object',
  additionalProperties: false,
  properties: {
    for: { type: 'string', pattern: '^[0-9]+(ms|s|m|h|d)$' },
    severity: { type: 'string', minLength: 1 },
    labels: STRINGS,
    threshold: { type: 'number' },
  },
};

const RESERVED_LABELS = '^((app\\.kubernetes\\.io|curbcut\\.dev|batch\\.kubernetes\\.io|helm\\.sh)/|(job-name|controller-uid)$)';
const ENV_NAME = { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' };
const QUANTITIES = { type: 'object', additionalProperties: { type: ['string', 'number'] } };
const PORT = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';
const USER_INFO = '([^\\s/?#%]|%[0-9a-fA-F]{2})*@';
const HOST = '(\\[[0-9a-fA-F:.]+\\]|[^\\s/?#@:\\[]+)';

/** The values in a map, and any other. */
const OPEN = { additionalProperties: true };

/** What a line `@schema NAME` means. */
const KINDS: Readonly<Record<string, Schema>> = {
  secretName: NAME,
  url: { pattern: '^(https?://[^\\s/].*)?$' },
  port: { minimum: 1, maximum: 65_535 },
  ports: { items: { type: 'integer', minimum: 1, maximum: 65_535 } },
  nodePort: { type: ['integer', 'null'], minimum: 30_000, maximum: 32_767 },
  quantity: { type: ['string', 'number'], pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$' },
  tag: { pattern: '^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$' },
  digest: { pattern: '^(sha256:[0-9a-f]{64})?$' },
  pullSecrets: {
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: { name: { type: 'string', ...NAME, minLength: 1 } },
    },
  },
  peers: { items: PEER },
  objects: { items: { type: 'object' } },
  object: { additionalProperties: true },
  open: OPEN,
  labels: STRINGS,
  // The chart and the operator set the others.
  ownLabels: { ...STRINGS, patternProperties: { [RESERVED_LABELS]: false } },
  // The operator refuses other types in SCANNER_POD_TEMPLATE, and fields that a pod of its own could have.
  scannerEnv: {
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: { name: ENV_NAME, value: { type: 'string' }, valueFrom: { type: 'object' } },
    },
  },
  scannerResources: { additionalProperties: false, properties: { requests: QUANTITIES, limits: QUANTITIES } },
  proxyUrl: { pattern: `^(http://(${USER_INFO})?${HOST}(:${PORT})?/?)?$` },
  noProxy: {
    items: {
      type: 'string',
      pattern: `^(\\*|(\\*?\\.)?[a-zA-Z0-9_-]+(\\.[a-zA-Z0-9_-]+)*\\.?|\\[[0-9a-fA-F:]+\\]|[0-9a-fA-F:]+)(:${PORT})?$`,
    },
  },
  env: { items: { type: 'object', required: ['name'], properties: { name: ENV_NAME } } },
  resources: {
    additionalProperties: false,
    properties: { requests: { type: 'object' }, limits: { type: 'object' }, claims: { type: 'array' } },
  },
  ingressHosts: {
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['host'],
      properties: { host: { type: 'string', minLength: 1 }, paths: { type: 'array', items: HOST_PATH } },
    },
  },
  alerts: { additionalProperties: ALERT },
};

const RULE = /^@schema (.+)$/;
/** A line that separates parts of the file. */
const HEADING = /^---/;

/** The description and the rule in the comment above a value. */
function readComment(comment: string): { description: string; rule: Schema } {
  const block = comment.split(/\n\s*\n/).at(-1)!;
  const lines = block.split('\n').map((line) => line.trim());
  const rules = lines.flatMap((line) => RULE.exec(line)?.[1] ?? []);
  const description = lines.filter((line) => !RULE.test(line) && !HEADING.test(line)).join(' ');
  return { description, rule: rules.length === 1 ? ruleOf(rules[0]!) : {} };
}

/** @throws Error if there is no such rule */
function ruleOf(text: string): Schema {
  if (text.startsWith('{')) return parse(text) as Schema;
  const kind = KINDS[text];
  if (kind === undefined) throw new Error(`helm/values.yaml: @schema ${text} is not one of ${Object.keys(KINDS).join(', ')}`);
  return kind;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' ? 'integer' : typeof value;
}

/** The comment above a pair. The parser gives that of a map's first pair to the map. */
const commentOf = (map: YAMLMap, pair: Pair, index: number): string =>
  (isScalar(pair.key) ? pair.key.commentBefore : undefined) ?? (index === 0 ? (map.commentBefore ?? '') : '');

interface Values {
  schema: Schema;
  /** The rows of the tables. */
  rows: Row[];
  /** The values of each section, without those of the sections inside it, by the section's path; '' is the whole. */
  sections: Record<string, Record<string, unknown>>;
}

function read(map: YAMLMap, section: string, { rows, sections }: Omit<Values, 'schema'>): Schema {
  const properties: Record<string, Schema> = {};
  const own: Record<string, unknown> = (sections[section] = {});
  map.items.forEach((pair, index) => {
    const key = String(pair.key);
    const path = section === '' ? key : `${section}.${key}`;
    const { description, rule } = readComment(commentOf(map, pair, index));
    const said = description === '' ? {} : { description };
    const value: unknown = isMap(pair.value) ? pair.value.toJSON() : (pair.value as { toJSON(): unknown }).toJSON();
    // A map without a rule has exactly these values, unless it is empty.
    if (isMap(pair.value) && pair.value.items.length > 0 && (Object.keys(rule).length === 0 || rule === OPEN)) {
      if (description !== '') rows.push({ path, description, default: undefined });
      properties[key] = { ...said, ...read(pair.value, path, { rows, sections }), ...rule };
      return;
    }
    own[key] = value;
    rows.push({ path, description, default: JSON.stringify(value) });
    properties[key] = { ...said, ...('enum' in rule ? {} : { type: typeOf(value) }), ...rule };
  });
  return { type: 'object', additionalProperties: false, properties };
}

function readValues(values: string): Values {
  const found = { rows: [], sections: {} };
  const document = parseDocument(values);
  if (document.errors[0]) throw document.errors[0];
  return { schema: read(document.contents as YAMLMap, '', found), ...found };
}

/** helm/values.schema.json */
export function valuesSchema(values: string): string {
  const { schema } = readValues(values);
  const whole = { $schema: 'http://json-schema.org/draft-07/schema#', title: 'Values of the chart curbcut', ...schema };
  return `${JSON.stringify(whole, null, 2)}\n`;
}

/**
 * helm/files/sections.json: the defaults of each section. Helm takes them away if a values file names the section and leaves it empty,
 * and no template can read values.yaml.
 */
export function sectionDefaults(values: string): string {
  const { '': _, ...sections } = readValues(values).sections;
  const lines = Object.entries(sections).map(([path, own]) => `${JSON.stringify(path)}: ${JSON.stringify(own)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;

/** The table of all values in helm/README.md. */
function valuesTable(values: string): string {
  const rows = readValues(values).rows.map(
    (row) => `| \`${row.path}\` | ${cell(row.description)} | ${row.default === undefined ? '' : code(row.default)} |`,
  );
  return ['| value | meaning | default |', '|---|---|---|', ...rows].join('\n');
}

/** helm/README.md with the table of all values. */
export function withValues(page: string, values: string): string {
  const pattern = /(<!-- begin values \(make docs\) -->\n)[^]*?(<!-- end values -->)/;
  if (!pattern.test(page)) throw new Error('helm/README.md has no block for the values');
  return page.replace(pattern, (_, begin: string, end: string) => `${begin}${valuesTable(values)}\n${end}`);
}
