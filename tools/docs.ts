/** Writes everything that is generated from the code: settings, limits, errors, metrics, scan options and phases in docs/, the custom resource definition, the chart's schema and tables, and Argo CD's ConfigMap. */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sectionDefaults, valuesSchema, withValues } from './chart-values.ts';
import { apiPage } from './api-reference.ts';
import { argocdConfigMap } from './argocd.ts';
import { limitsSection } from './limits.ts';
import { referenceSections } from './reference.ts';
import { withOptions, withScanTemplate } from './manifest-options.ts';
import { EXAMPLE_END } from '../api/accounts/known-issues.ts';
import { ERROR_CODES, ERRORS, QUEUE_LIMITS, STREAM_LIMITS, VALIDATION_TYPES } from '../api/http/errors.ts';
import { Environment as ApiEnvironment } from '../api/config.ts';
import { createMetrics } from '../api/metrics.ts';
import { Environment as OperatorEnvironment } from '../operator/config.ts';
import { createOperatorMetrics } from '../operator/metrics.ts';
import { ScannerConfiguration } from '../scanner-image/config.ts';

interface Property {
  description?: string;
  default?: unknown;
  secret?: boolean;
  fromFile?: boolean;
}
interface Settings {
  properties: Record<string, unknown>;
  required?: readonly string[];
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** The row of each setting, by its name. */
function settingRows(schema: Settings): Map<string, string> {
  const rows = Object.entries(schema.properties as Record<string, Property>).map(([name, property]): [string, string] => {
    const needed = property.default === undefined && (schema.required ?? []).includes(name);
    const fallback =
      property.default === undefined
        ? needed
          ? '**must be set**'
          : ''
        : property.default === ''
          ? 'empty'
          : `\`${String(property.default)}\``;
    const names = property.fromFile ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``;
    return [name, `| ${names} | ${cell(property.description ?? '')}${property.secret ? ' (secret: never printed)' : ''} | ${fallback} |`];
  });
  return new Map(rows);
}

const settingsTable = (rows: Iterable<string>): string => ['| variable | must be | default |', '|---|---|---|', ...rows].join('\n');

/** The settings that both processes read in the same way, and those of each. */
function serviceSettings(): { both: string[]; api: string[]; operator: string[] } {
  const [api, operator] = [ApiEnvironment, OperatorEnvironment].map((schema) => settingRows(schema as unknown as Settings));
  const isShared = (name: string): boolean => api!.get(name) === operator!.get(name);
  const own = (rows: Map<string, string>): string[] => [...rows].filter(([name]) => !isShared(name)).map(([, row]) => row);
  return { both: [...api!].filter(([name]) => isShared(name)).map(([, row]) => row), api: own(api!), operator: own(operator!) };
}

/** A metric as its module declares it. */
interface Metric {
  name: string;
  help: string;
  type: string;
  labels: readonly string[];
}

interface Registered {
  name: string;
  help: string;
  type: string;
  labelNames?: readonly string[];
}

/** The metrics of each process, without those of Node.js itself. */
export function metrics(): { api: Metric[]; operator: Metric[] } {
  const of = (registry: { getMetricsAsArray(): unknown }): Metric[] =>
    (registry.getMetricsAsArray() as Registered[])
      .map(({ name, help, type, labelNames = [] }) => ({ name, help, type, labels: labelNames }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  return { api: of(createMetrics().registry), operator: of(createOperatorMetrics().registry) };
}

function metricsTable(list: readonly Metric[]): string {
  const rows = list.map(
    ({ name, type, labels, help }) => `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${cell(help)} |`,
  );
  return ['| metric | type | labels | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

/** A heading for each code, which is the anchor of `docs_url`, in the order of their statuses. */
function errorEntries(): string {
  const codes = ERROR_CODES.toSorted((one, other) => ERRORS[one].status - ERRORS[other].status);
  return codes.map((code) => `### \`${code}\`\n\n${ERRORS[code].status}: ${ERRORS[code].message}`).join('\n\n');
}

const errorsSection = (): string => `## Errors

Every error body is \`{"detail": …}\`. For validation errors (422) \`detail\` is a list; for all others it is one of these codes, and \`message\` says what
to do. \`docs_url\` is the address of the error on this page, relative to the base address of the API, and \`request_id\` the \`X-Request-Id\` of the
response and the \`request\` of the log lines. If \`GET /v1/ci/scans/{id}\` returns 422 with a scan result, this is no error: a threshold was missed.

${errorEntries()}

### Validation errors

Each item of \`detail\` has \`loc\`, \`msg\`, \`type\` and \`bounds\`, what the value must keep to, if there is more to say than \`type\` does. \`type\` is one of ${VALIDATION_TYPES.map((type) => `\`${type}\``).join(', ')}.

### More fields

These codes have more fields: \`permission_denied\` the missing \`permission\` (absent if a test key cannot make the change);
\`insufficient_credits\` \`balance\` and \`pages_requested\`; \`queue_full\` \`limit\`, whose share of the live scans is used up (${QUEUE_LIMITS.join(', ')});
\`too_many_streams\` and \`streams_full\` \`limit\`, whose event streams are too many (${STREAM_LIMITS.join(', ')});
\`already_created\` the \`id\` of what the earlier request created or changed;
\`known_issue_exists\` the \`known_issue_id\` of the other one; both it and \`known_issue_managed_by_manifest\` the \`manifest\` that declares it, with \`namespace\` and \`name\`.
`;

/** The generated pages by file name. */
function pages(): Record<string, string> {
  const settings = serviceSettings();
  return {
    'contributing/configuration.md': `# Environment variables

Set these to start the processes without the chart, which sets them by [its values](../../helm/README.md#values). A process reads them once, when it
starts. If some are invalid, it exits with code 1 and lists all of them. An empty variable counts as absent.

\`NAME_FILE\` is the path of a file with the value of \`NAME\`, such as a key of a mounted Secret. A credential that is set by its file can be
[rotated](../chart.md#rotate-credentials) without a restart.

This page is generated from the code by \`make docs\`; \`make lint\` fails if it is out of date.

## API and operator

${settingsTable(settings.both)}

## API (\`api/main.ts\`)

${settingsTable(settings.api)}

## Operator (\`operator/main.ts\`)

${settingsTable(settings.operator)}

## Scanner (\`scanner-image/main.ts\`)

The operator sets them on scanner pods.

${settingsTable(settingRows(ScannerConfiguration as unknown as Settings).values())}

## \`make run\`

Reads \`KUBECONFIG\`, \`MONGODB_URL\`, \`NATS_URL\`, \`S3_ENDPOINT\` and \`SMTP_URL\`: if one is set, the service at that
address is used instead of the embedded one. \`PORT\` is the API's port (default 8080, or any free one). \`ALLOW_TARGETS\`
defaults to loopback. Writes \`.curbcut/env\`, shell lines with \`CURBCUT_URL\`, \`CURBCUT_API_KEY\`, \`KUBECONFIG\`,
\`CURBCUT_DASHBOARD_URL\` and, with the embedded mail catcher, \`CURBCUT_INBOX_URL\`. The password of \`demo@example.com\`
is in \`.curbcut/demo-password\`.
`,
    'contributing/metrics.md': `# Metrics

Look up what API and operator report at \`/metrics\`. [operate.md](../operate.md#metrics) describes how to scrape them and what to know about labels.

This page is generated from the code by \`make docs\`; \`make lint\` fails if it is out of date.

## API

${metricsTable(metrics().api)}

## Operator

${metricsTable(metrics().operator)}

## Both processes

\`curbcut_process_*\` and \`curbcut_nodejs_*\`: CPU, memory, open files, event loop lag and garbage collection of the
process, from the Prometheus client for Node.js.
`,
  };
}

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Every file of the repository that is made from the code, in whole or in part, by its path. */
async function generatedFiles(): Promise<Record<string, string>> {
  const values = read('helm/values.yaml');
  const scans = withOptions(read('crds/accessibilityscans.yaml'));
  const definitions = {
    ...Object.fromEntries(globSync('crds/*.yaml', { cwd: root }).map((path) => [path, read(path)])),
    'crds/accessibilityscans.yaml': scans,
    'crds/scanschedules.yaml': withScanTemplate(read('crds/scanschedules.yaml'), scans),
  };
  return {
    ...Object.fromEntries(Object.entries(pages()).map(([name, text]) => [`docs/${name}`, text])),
    // An end that is always ahead would change the page each day.
    'docs/api.md': (await apiPage()).replaceAll(EXAMPLE_END, '2030-01-31T12:00:00Z'),
    'docs/reference.md': [referenceSections(), limitsSection(), errorsSection()].join('\n'),
    'helm/README.md': withValues(read('helm/README.md'), values),
    'helm/values.schema.json': valuesSchema(values),
    'helm/files/sections.json': sectionDefaults(values),
    'examples/argocd/argocd-cm-curbcut.yaml': argocdConfigMap(),
    ...definitions,
    // Helm packs no file from outside the chart.
    ...Object.fromEntries(Object.entries(definitions).map(([path, text]) => [`helm/files/${path}`, text])),
  };
}

if (import.meta.main) {
  const stale = Object.entries(await generatedFiles()).filter(([path, text]) => !existsSync(join(root, path)) || read(path) !== text);
  if (!process.argv.includes('--check')) for (const [path, text] of stale) writeFileSync(join(root, path), text);
  else if (stale.length > 0) {
    console.error(`differ from the code, run make docs: ${stale.map(([path]) => path).join(', ')}`);
    process.exitCode = 1;
  }
}
