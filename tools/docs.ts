/** Writes the pages of docs/ that are made from the code: every setting, every error of the API, every metric. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS, VALIDATION_TYPES } from '../api/errors.ts';
import { Environment as ApiEnvironment } from '../api/config.ts';
import { createMetrics } from '../api/metrics.ts';
import { Environment as OperatorEnvironment } from '../operator/config.ts';
import { createOperatorMetrics } from '../operator/metrics.ts';
import { ScannerConfiguration } from '../scanner-image/config.ts';

interface Property {
  description?: string;
  default?: unknown;
  secret?: boolean;
}
interface Settings {
  properties: Record<string, unknown>;
  required?: readonly string[];
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function settingsTable(schema: Settings): string {
  const rows = Object.entries(schema.properties as Record<string, Property>).map(([name, property]) => {
    const needed = property.default === undefined && (schema.required ?? []).includes(name);
    const fallback =
      property.default === undefined
        ? needed
          ? '**must be set**'
          : ''
        : property.default === ''
          ? 'empty'
          : `\`${String(property.default)}\``;
    return `| \`${name}\` | ${cell(property.description ?? '')}${property.secret ? ' (secret: never shown)' : ''} | ${fallback} |`;
  });
  return ['| variable | must be | default |', '|---|---|---|', ...rows].join('\n');
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

/** Every metric of each process but those of Node.js itself. */
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
  return ['| metric | type | labels | what |', '|---|---|---|---|', ...rows].join('\n');
}

/** The pages by file name. */
export function pages(): Record<string, string> {
  return {
    'configuration.md': `# Configuration

Each process reads its environment once, when it starts. A mistake ends it with exit code 1 and a list that names every
variable that is wrong, what it holds (secrets masked) and what is allowed. An empty variable counts as absent.

This page is made from the code by \`make docs\`; a test sees that it is up to date.

## API (\`api/main.ts\`)

${settingsTable(ApiEnvironment as unknown as Settings)}

## Operator (\`operator/main.ts\`)

${settingsTable(OperatorEnvironment as unknown as Settings)}

## Scanner (\`scanner-image/main.ts\`)

Set by the operator on the pods that it makes.

${settingsTable(ScannerConfiguration as unknown as Settings)}

## \`make run\`

Reads \`KUBECONFIG\`, \`MONGODB_URL\`, \`NATS_URL\` and \`S3_ENDPOINT\`: a part whose address is set is not started but used.
\`PORT\` is the API's port (default 8080, else any free one). \`ALLOW_TARGETS\` is loopback where it is not set. It writes
\`.curbcut/env\`, shell lines for \`CURBCUT_URL\`, \`CURBCUT_API_KEY\` and \`KUBECONFIG\` of what is running.
`,
    'metrics.md': `# Metrics

API (port 8080) and operator (port 9090) answer Prometheus at \`/metrics\`. Times are in seconds. Labels are bounded: route
patterns, phases, reasons and outcomes, never an id, a name or a URL. What concerns single scans is in their status, in
Kubernetes events and in the logs.

The chart has a ServiceMonitor (\`metrics.serviceMonitor.enabled\`), alerts (\`metrics.rules.enabled\`;
[runbooks](runbooks.md)) and a Grafana dashboard (\`metrics.dashboard.enabled\`). Without their operators, Prometheus reads
\`helm/alerts/curbcut.yaml\` and Grafana \`helm/dashboards/curbcut.json\` as they are.

This page is made from the code by \`make docs\`; a test sees that it is up to date.

## API

${metricsTable(metrics().api)}

## Operator

Every replica answers, but only the one that leads knows of scans: take the \`max\` of gauges and the \`sum\` of counters
over replicas. Counters of scans and pages are told once a scan, or again where the operator was killed in between; the
credits' truth is the ledger in MongoDB.

${metricsTable(metrics().operator)}

## Both processes

\`curbcut_process_*\` and \`curbcut_nodejs_*\`: CPU, memory, open files, event loop lag and garbage collection of the
process, as the Prometheus client for Node.js tells them.
`,
    'errors.md': `# Errors

Every error body is \`{"detail": …}\`. For validation errors (422) \`detail\` is a list of \`{loc, msg, type}\`; for all others
it is a stable code, and \`message\` beside it says what to do. Every response carries \`X-Request-Id\`.

This page is made from the code by \`make docs\`; a test sees that it is up to date.

| status | \`detail\` | \`message\` |
|---|---|---|
${Object.entries(ERRORS)
  .sort(([, one], [, other]) => one.status - other.status)
  .map(([code, { status, message }]) => `| ${status} | \`${code}\` | ${cell(message)} |`)
  .join('\n')}

\`type\` of a validation error's items is one of ${VALIDATION_TYPES.map((type) => `\`${type}\``).join(', ')}.

A 422 of \`GET /v1/ci/scans/{id}\` with a scan result as its body is no error but a verdict: a threshold was missed.
`,
  };
}

if (import.meta.main)
  for (const [name, text] of Object.entries(pages())) writeFileSync(join(import.meta.dirname, '..', 'docs', name), text);
