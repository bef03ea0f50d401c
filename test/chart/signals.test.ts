/** Alerts and dashboard: they parse, use only existing metrics and labels, and each alert has a runbook. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { expect } from 'chai';
import { parse } from 'yaml';
import { createMetrics } from '../../api/metrics.ts';
import { addProcessMetrics } from '../../stores/process-metrics.ts';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { metrics } from '../../tools/docs.ts';
import { CHART, needsHelm, PLAIN, render, ROOT, refusalOf } from './rendered.ts';

interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string; audience?: string; namespace?: string };
  annotations: { summary: string; description: string; runbook_url?: string };
}
interface Groups {
  groups: { name: string; rules: Alert[] }[];
}
interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; datasource: { uid: string } }[];
}
interface Dashboard {
  uid: string;
  panels: Panel[];
}

const ALERTS = join(CHART, 'alerts', 'curbcut.yaml');
const { groups } = parse(readFileSync(ALERTS, 'utf8')) as Groups;
const alerts = groups.flatMap(({ rules }) => rules);
const dashboard = JSON.parse(readFileSync(join(CHART, 'dashboards', 'curbcut.json'), 'utf8')) as Dashboard;

/** The name of every series that a scrape may return, with the labels of its metric. */
function seriesOfCode(): Map<string, readonly string[]> {
  const known = new Map<string, readonly string[]>();
  const { api, operator } = metrics();
  for (const { name, type, labels } of [...api, ...operator])
    for (const suffix of type === 'histogram' ? ['_bucket', '_count', '_sum'] : ['']) known.set(`${name}${suffix}`, labels);
  const all = createMetrics();
  addProcessMetrics(all);
  for (const { name } of all.registry.getMetricsAsArray()) if (/^curbcut_(process|nodejs)_/.test(name)) known.set(name, []);
  return known;
}

/** The metrics and labels of an expression. @throws if it is not PromQL */
function read(expr: string): { metrics: string[]; labels: string[] } {
  const text = expr.replaceAll('$__rate_interval', '5m').replaceAll('$__range', '1h');
  const found = { metrics: [] as string[], labels: [] as string[] };
  parser.parse(text).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`not PromQL at ${node.from}: ${text}`);
      const word = text.slice(node.from, node.to);
      if (node.name === 'Identifier' && node.node.parent?.name === 'VectorSelector') found.metrics.push(word);
      if (node.name === 'LabelName') found.labels.push(word);
    },
  });
  return found;
}

/** The label that sends an alert to the namespace of its schedule. */
const OWN = '{{ $labels.schedule_namespace }}';

/** Labels that Prometheus adds. */
const TARGET_LABELS = ['namespace', 'pod', 'instance', 'le'];

function problemsOf(expr: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const used = read(expr);
  if (used.metrics.length === 0) return [`no metric in ${expr}`];
  const labels = new Set([...TARGET_LABELS, ...used.metrics.flatMap((name) => known.get(name) ?? [])]);
  return [...used.metrics.filter((name) => !known.has(name)), ...used.labels.filter((name) => !labels.has(name))];
}

describe('alerts', () => {
  const known = seriesOfCode();

  it('use existing metrics and have a severity', () => {
    for (const { alert, expr, labels } of alerts) {
      expect(problemsOf(expr, known), alert).to.deep.equal([]);
      expect(labels.severity, alert).to.be.oneOf(['critical', 'warning', 'info']);
    }
  });

  it('name the audience of those that are not for the platform, which never page', () => {
    const tenants = groups.filter(({ name }) => name === 'curbcut-tenants').flatMap(({ rules }) => rules);
    expect(tenants).to.have.length.above(0);
    expect(alerts.filter(({ labels }) => labels.audience !== undefined)).to.deep.equal(tenants);
    // By which it reaches the owner: what has no namespace of its owner is for the platform.
    for (const { labels } of tenants) expect(labels).to.include({ audience: 'tenant', severity: 'warning', namespace: OWN });
  });

  it('use only reasons and outcomes that the processes export from their start', async () => {
    const [api, operator] = [createMetrics(), createOperatorMetrics()];
    operator.runtime.listed('jobs', 0);
    const text = (await api.registry.metrics()) + (await operator.registry.metrics());
    const exported = new Set([...text.matchAll(/(?:reason|outcome)="([^"]+)"/g)].map(([, value]) => value!));
    const asked = alerts.flatMap(({ expr }) =>
      [...expr.matchAll(/(?:reason|outcome)=~?"([^"]+)"/g)].flatMap(([, values]) => values!.split('|')),
    );
    expect(asked).to.have.length.above(10);
    expect(asked.filter((value) => !exported.has(value))).to.deep.equal([]);
  });

  it('have one runbook each', () => {
    const [, text] = readFileSync(join(ROOT, 'docs', 'operate.md'), 'utf8').split(/^## Alerts$/m);
    const headings = [...text!.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading!);
    expect(headings).to.deep.equal(alerts.map(({ alert }) => alert));
    for (const section of text!.split(/^### /m).slice(1)) expect(section, section.split('\n')[0]).to.include('**Do.**');
  });

  it('fire as the cases of alerts.yaml expect, by promtool', function () {
    const promtool = process.env.PROMTOOL ?? 'promtool';
    if (spawnSync(promtool, ['--version']).error) {
      console.log(`      (skipped: promtool is neither in PATH nor named by PROMTOOL; the expressions were only parsed)`);
      this.skip();
    }
    execFileSync(promtool, ['check', 'rules', '--lint=all', '--lint-fatal', ALERTS], { stdio: 'pipe' });
    execFileSync(promtool, ['test', 'rules', join(import.meta.dirname, 'alerts.yaml')], { stdio: 'pipe' });
  });
});

describe('dashboard', () => {
  const known = seriesOfCode();
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');

  it('uses existing metrics, the selected data source and the selected namespace', () => {
    for (const { title, targets = [] } of panels) {
      expect(targets, title).to.have.length.above(0);
      for (const { expr, datasource } of targets) {
        expect(problemsOf(expr, known), title).to.deep.equal([]);
        expect(expr, title).to.include('namespace=~"$namespace"');
        expect(datasource.uid).to.equal('${datasource}');
      }
    }
  });

  it('shows every metric of the code', () => {
    const { api, operator } = metrics();
    const shown = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => read(expr).metrics)).join(' ');
    const missing = [...api, ...operator].filter(({ name }) => !shown.includes(name)).map(({ name }) => name);
    expect(missing).to.deep.equal([]);
  });
});

describe('monitoring objects of the chart', () => {
  needsHelm();
  const ON = {
    ...PLAIN,
    'metrics.serviceMonitor.enabled': true,
    'metrics.serviceMonitor.labels': { release: 'prometheus' },
    'metrics.rules.enabled': true,
    'metrics.rules.runbookUrl': 'https://docs.example/operate.md',
    'metrics.dashboard.enabled': true,
  };
  const MONITORING = ['ServiceMonitor', 'PrometheusRule'];

  it('are off by default, because a cluster without the Prometheus operator does not have their kinds', () => {
    expect(render(PLAIN).filter(({ kind, metadata }) => MONITORING.includes(kind) || metadata.name.endsWith('-dashboard'))).to.deep.equal(
      [],
    );
  });

  it('scrape each process on a port of its Service', () => {
    const objects = render(ON);
    const monitor = objects.find(({ kind }) => kind === 'ServiceMonitor')!;
    expect(monitor.metadata.labels).to.include({ release: 'prometheus' });
    const spec = monitor.spec as {
      endpoints: { port: string }[];
      selector: { matchLabels: Record<string, string>; matchExpressions: { values: string[] }[] };
    };
    expect(spec.endpoints.map(({ port }) => port)).to.deep.equal(['metrics']);
    const scraped = objects.filter(
      ({ kind, metadata: { labels }, spec: service }) =>
        kind === 'Service' &&
        spec.selector.matchExpressions[0]!.values.includes(labels['app.kubernetes.io/component']!) &&
        Object.entries(spec.selector.matchLabels).every(([label, value]) => labels[label] === value) &&
        (service as { ports: { name: string }[] }).ports.some(({ name }) => name === 'metrics'),
    );
    expect(scraped.map(({ metadata }) => metadata.name)).to.have.members(['curbcut-api-metrics', 'curbcut-operator-metrics']);
  });

  it('contain the alerts, each with a link to its runbook, and report absent metrics of their own namespace', () => {
    const own = alerts.map((alert) => ({ ...alert, expr: alert.expr.replaceAll(/absent\((\w+)\)/g, 'absent($1{namespace="prod"})') }));
    expect(own.filter(({ expr }) => expr.includes('absent(')).map(({ alert }) => alert)).to.deep.equal([
      'CurbcutApiAbsent',
      'CurbcutNoLeader',
    ]);
    for (const { expr } of own) expect(problemsOf(expr, seriesOfCode())).to.deep.equal([]);
    expect(rulesOf({})).to.deep.equal(
      own.map((alert) => ({
        ...alert,
        annotations: { ...alert.annotations, runbook_url: `https://docs.example/operate.md#${alert.alert.toLowerCase()}` },
      })),
    );
    const platform = rulesOf({ 'metrics.rules.tenants': false, 'metrics.rules.runbookUrl': '' });
    expect(platform).to.deep.equal(own.filter(({ labels }) => labels.audience !== 'tenant'));
  });

  const rulesOf = (values: Record<string, unknown>): Alert[] =>
    (render({ ...ON, ...values }).find(({ kind }) => kind === 'PrometheusRule')!.spec as Groups).groups.flatMap(({ rules }) => rules);

  it('leave out and change single alerts as the values say', () => {
    const changed = rulesOf({
      'metrics.rules.disabled': ['CurbcutQueuePaused', 'CurbcutScheduleRegressed', 'CurbcutScheduleWithoutResults'],
      'metrics.rules.alerts': {
        CurbcutQueueWaits: { threshold: 7200, for: '30m', severity: 'critical', labels: { team: 'web' } },
        CurbcutPagesCrash: { threshold: 0.25 },
      },
    });
    expect(changed.map(({ alert }) => alert)).to.not.include.members(['CurbcutQueuePaused']);
    expect(changed).to.have.length(alerts.length - 3);
    const of = (alert: string) => changed.find((rule) => rule.alert === alert)!;
    expect(of('CurbcutQueueWaits')).to.deep.include({ for: '30m', labels: { severity: 'critical', team: 'web' } });
    expect(of('CurbcutQueueWaits').expr)
      .to.include('curbcut_queue_oldest_wait_seconds) > 7200\n')
      .and.include('curbcut_queue_paused) == 1');
    expect(of('CurbcutPagesCrash').expr).to.match(/> 0\.25$/m);
    for (const { expr } of changed) expect(problemsOf(expr, seriesOfCode())).to.deep.equal([]);
    expect(refusalOf({ ...ON, 'metrics.rules.disabled': ['CurbcutQueueWait'] })).to.include('names CurbcutQueueWait, which is no alert');
    expect(refusalOf({ ...ON, 'metrics.rules.alerts.CurbcutQueuePaused.threshold': 2 })).to.include(
      'CurbcutQueuePaused.threshold has no effect',
    );
    expect(refusalOf({ ...ON, 'metrics.rules.alerts.CurbcutNoLeader.fore': '2m' })).to.match(/fore/);
  });

  it('contain the dashboard with the label that Grafana selects by', () => {
    const map = render(ON).find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'curbcut-dashboard')!;
    expect(map.metadata.labels).to.include({ grafana_dashboard: '1' });
    expect(JSON.parse((map.data as Record<string, string>)['curbcut.json']!)).to.deep.equal(dashboard);
  });
});
