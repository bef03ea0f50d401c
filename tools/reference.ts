/** Generates the first sections of docs/reference.md from core's tables. */
import { SCOPE_MEANINGS } from '../core/accounts.ts';
import { SCAN_OPTIONS } from '../cli/options.ts';
import { snakeCase } from '../core/schemas.ts';
import { HTTP_CRAWL_RULES, HTTP_OPTIONS, ScanOptions, type OptionName } from '../core/scan/options.ts';

import { METADATA_MAX, METADATA_VALUE_MAX, WELL_KNOWN_METADATA } from '../core/scan/metadata.ts';
import { PHASE_TABLE } from '../core/scan/phases.ts';
import { THRESHOLDS, type ThresholdName } from '../core/scan/thresholds.ts';

interface Schema {
  type: string;
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  pattern?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');
export const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  [
    `| ${headings.join(' | ')} |`,
    `|${headings.map(() => '---').join('|')}|`,
    ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
  ].join('\n');

function allowed({ type, enum: values, minimum, maximum, maxLength, maxItems, items }: Schema): string {
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ');
  const words = [
    type === 'array'
      ? `list of ${items?.type === 'object' ? 'steps' : items?.pattern === undefined ? 'globs' : items.pattern.includes('//') ? 'addresses' : 'hosts'}`
      : type,
  ];
  if (minimum !== undefined)
    words.push(maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? `${minimum} to ${maximum}` : `from ${minimum}`);
  if (maxLength !== undefined) words.push(`at most ${maxLength} characters`);
  if (maxItems !== undefined) words.push(`at most ${maxItems}`);
  return words.join(', ');
}

const FLAGS: Readonly<Record<string, string>> = {
  url: 'URL',
  hosts: '--host',
  wcagLevel: '--wcag',
  wcagVersion: '--wcag',
  pictures: '--no-pictures',
  advice: '--no-advice',
};
const optionNamed = (name: string): string | null => (Object.hasOwn(SCAN_OPTIONS, name) ? `--${name}` : null);
const flagOf = (name: string): string | null => FLAGS[name] ?? optionNamed(snakeCase(name).replaceAll('_', '-'));

/** One row per option: its name in a manifest, over HTTP and on the command line. */
function optionRows(): string[][] {
  const row = (manifest: string, http: string | null, flag: string | null, schema: Schema): string[] => [
    `\`${manifest}\``,
    http === null ? '' : `\`${http}\``,
    flag === null ? '' : `\`${flag}\``,
    schema.description ?? '',
    allowed(schema),
    schema.default === undefined ? '' : `\`${JSON.stringify(schema.default).replaceAll('"', '')}\``,
  ];
  const inHttp: readonly string[] = [...HTTP_OPTIONS, ...HTTP_CRAWL_RULES];
  const http = (name: string): string | null => (inHttp.includes(name) ? snakeCase(name) : null);
  return Object.entries(ScanOptions.properties as unknown as Record<OptionName, Schema>).flatMap(([name, schema]) =>
    schema.properties === undefined
      ? [row(name, http(name), flagOf(name), schema)]
      : Object.entries(schema.properties).map(([inner, innerSchema]) => {
          const threshold = name === 'thresholds' ? THRESHOLDS[inner as ThresholdName] : undefined;
          return row(
            `${name}.${inner}`,
            threshold ? snakeCase(inner) : http(inner),
            threshold ? `--${threshold.flag[0]}` : flagOf(inner),
            innerSchema,
          );
        }),
  );
}

export const referenceSections = (): string => `# Reference: options, phases, scopes, limits, errors

Look up every option, phase, scope, limit and error. This page is generated from the code by \`make docs\`.

## Options

These are fields of \`spec\` in an AccessibilityScan, fields of \`POST /v1/ci/scans\`, and options of \`curbcut scan\`. An empty cell means that
the option has its default there. Without any threshold there is no verdict.

${table(['manifest', 'HTTP', 'command line', 'meaning', 'allowed', 'default'], optionRows())}

## Metadata

Metadata says which version of the site was scanned, and does not change the scan. Set it with the field \`metadata\` of
\`POST /v1/ci/scans\`, the option \`--metadata\` of the command line, and the annotations \`metadata.curbcut.dev/KEY\` of an
AccessibilityScan. Results, reports and the dashboard show it. The list of scans takes it as filters:
\`GET /v1/ci/scans?metadata.branch=main\`.

At most ${METADATA_MAX} pairs. Keys have the syntax of the keys of Kubernetes labels without a prefix. Values are printable text of at most ${METADATA_VALUE_MAX} characters.

Any key is allowed. Well known are:

${table(
  ['key', 'value'],
  Object.entries(WELL_KNOWN_METADATA).map(([key, meaning]) => [`\`${key}\``, meaning]),
)}

## Phases

A scan goes through the phases in this order. It may skip a phase, and never moves backwards. \`done\`, \`failed\` and
\`canceled\` are terminal. Clients must treat an unknown phase as not terminal.

${table(
  ['phase', 'meaning'],
  Object.entries(PHASE_TABLE).map(([phase, { meaning }]) => [`\`${phase}\``, meaning]),
)}

## Scopes of API keys

A key has the scopes that it was created with; by default all of them. \`curbcut scan\` needs \`scans:read\` and \`scans:write\`.
A request without the required scope gets 403 \`permission_denied\`, and the message names the scope.

${table(
  ['scope', 'what the key may do'],
  Object.entries(SCOPE_MEANINGS).map(([scope, meaning]) => [`\`${scope}\``, meaning]),
)}
`;
