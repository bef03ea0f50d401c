/**
 * Alerts fire on the first event after a process has started. Their input is not written by hand: it is what the real
 * registries export before and after the event, so a series that appears only with its first event fails the test.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { createMetrics, type Metrics } from '../../api/metrics.ts';
import { createOperatorMetrics, type OperatorMetrics } from '../../operator/metrics.ts';
import type { OperatorOptions } from '../../operator/context.ts';
import { runOperator } from '../../operator/operator.ts';
import { SCHEDULE_SERIES_MAX, type ScheduleSource } from '../../operator/schedule/metrics.ts';
import { monitorDependencies } from '../../platform/readiness.ts';
import { settingsFor } from '../support/operator-settings.ts';
import { scheduleWith } from '../support/schedule-world.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { CHART } from './rendered.ts';

const ALERTS = join(CHART, 'alerts', 'curbcut.yaml');
const EVENT_AT = 10;

interface Processes {
  api: Metrics;
  operator: OperatorMetrics;
}
interface Case {
  /** The event; nothing if the state at the start suffices. */
  event?: (processes: Processes) => void;
  /** The event happens every minute, because the alert asks for a state that lasts. */
  lasting?: true;
  /** Minutes after the event. */
  firesAfter: number;
}

const TOO_MANY_SCHEDULES: ScheduleSource = {
  list: () => Array.from({ length: SCHEDULE_SERIES_MAX + 1 }, () => scheduleWith({}, new Date(0))),
  unreadable: () => false,
  timesWithoutResult: () => 0,
};
const ended = (reason: string) => ({ operator }: Processes) => operator.ended('failed', reason, 1, null); // prettier-ignore
const CASES: Readonly<Record<string, Case>> = {
  CurbcutDependencyDown: { firesAfter: 3 },
  CurbcutMessagesDown: { firesAfter: 11 },
  CurbcutNoLeader: { firesAfter: 3 },
  CurbcutLimitsFallback: { event: ({ api }) => api.limitsFallback(), lasting: true, firesAfter: 12 },
  CurbcutSubmissionsHeldBack: { event: ({ api }) => api.submission('queue_full'), lasting: true, firesAfter: 12 },
  CurbcutResourcesRejected: { event: ({ api }) => api.submission('resource_rejected'), firesAfter: 2 },
  CurbcutWatchesBreak: {
    event: ({ operator }) => operator.runtime.watchRestarted('jobs', 'error'),
    lasting: true,
    firesAfter: 15,
  },
  CurbcutSweepsFail: { event: ({ operator }) => operator.swept(null), firesAfter: 17 },
  CurbcutSchedulesRefused: { event: ({ operator }) => operator.schedules.refused('CreateRefused'), firesAfter: 2 },
  CurbcutScheduleScansFail: {
    event({ operator }) {
      operator.scheduleSeries.read(TOO_MANY_SCHEDULES);
      operator.schedules.failed(true);
    },
    firesAfter: 2,
  },
  CurbcutWebhooksStalled: { event: ({ api }) => api.oldestWebhook.set(1000), firesAfter: 6 },
  CurbcutSchedulesMissed: { event: ({ operator }) => operator.schedules.skipped('too_late', 1), firesAfter: 2 },
  CurbcutScannersDoNotStart: { event: ended('ImagePull'), firesAfter: 7 },
  CurbcutScansHaveNoPlace: { event: ({ operator }) => operator.requeued('QuotaExceeded'), lasting: true, firesAfter: 17 },
  CurbcutScannersCrash: { event: ended('Crashed'), firesAfter: 12 },
  CurbcutResultsRefused: { event: ended('ResultsRefused'), firesAfter: 2 },
  CurbcutScansUncharged: { event: ({ operator }) => operator.uncharged(), firesAfter: 2 },
  CurbcutPagesCrash: { event: ({ operator }) => operator.pagesVisited([{ outcome: 'crashed', seconds: 1 }]), firesAfter: 17 },
};

/** Both processes as they are right after their start: nothing answers yet, and no replica leads. */
async function startProcesses(): Promise<Processes> {
  const [api, operator] = [createMetrics(), createOperatorMetrics()];
  const never = { required: true, check: () => Promise.reject(new Error('down')) };
  const probes = { mongodb: never, kubernetes: never, objects: never, nats: never };
  for (const onDependency of [api.dependency, operator.stores.dependency])
    monitorDependencies(probes, { logger: silentLogger, onDependency }).stop();
  const stopped = AbortSignal.abort();
  const settings = settingsFor('curbcut', []);
  const connection = { path: () => '' };
  await runOperator(
    { connection, settings, metrics: operator, identity: 'one', logger: silentLogger } as unknown as OperatorOptions,
    stopped,
  );
  operator.runtime.watchKept('jobs');
  operator.runtime.listed('jobs', 0.1);
  return { api, operator };
}

type Samples = Map<string, number>;

/** The samples of both processes by series, with the labels that Prometheus adds. */
async function scrape(processes: Processes): Promise<Samples> {
  const samples: Samples = new Map();
  for (const [process, { registry }] of Object.entries(processes))
    for (const [, name, labels, value] of (await registry.metrics()).matchAll(/^(curbcut_\w+)(?:\{(.*)\})? (\S+)$/gm)) {
      const target = `namespace="a",pod="${process}",instance="${process}"`;
      samples.set(`${name}{${labels ? `${labels},` : ''}${target}}`, Number(value));
    }
  return samples;
}

/** The series of promtool: one value a minute, from the start of the processes over the event to the end. */
async function seriesOf({ event, lasting }: Case): Promise<{ series: string; values: string }[]> {
  const processes = await startProcesses();
  const before = await scrape(processes);
  event?.(processes);
  const after = await scrape(processes);
  event?.(processes);
  const next = await scrape(processes);
  return [...after].map(([series, value]) => {
    const earlier = before.get(series);
    const step = lasting ? next.get(series)! - value : 0;
    return { series, values: `${earlier === undefined ? `_x${EVENT_AT}` : `${earlier}x${EVENT_AT - 1}`} ${value}+${step}x60` };
  });
}

describe('alerts on the first event', () => {
  const promtool = process.env.PROMTOOL ?? 'promtool';
  const rules = (parse(readFileSync(ALERTS, 'utf8')) as { groups: { rules: { alert: string; expr: string }[] }[] }).groups.flatMap(
    (group) => group.rules,
  );

  it('are tested for every alert that counts events, or that watches a dependency or the leader', () => {
    const counting = rules.filter(({ expr }) => /increase\(|dependency_up|curbcut_leader\) < 1/.test(expr)).map(({ alert }) => alert);
    expect(Object.keys(CASES)).to.have.members(counting);
  });

  it('have a series for each counter and each phase before anything has happened', async () => {
    const processes = await startProcesses();
    const samples = [...(await scrape(processes)).keys()];
    for (const { registry } of Object.values(processes))
      for (const { name, type } of registry.getMetricsAsArray() as unknown as { name: string; type: string }[])
        if (type === 'counter')
          expect(
            samples.some((series) => series.startsWith(`${name}{`)),
            name,
          ).to.equal(true);
    expect(samples.filter((series) => series.startsWith('curbcut_scans{'))).to.have.lengthOf(6);
  });

  it('fire, by promtool', async function () {
    if (spawnSync(promtool, ['--version']).error) {
      console.log('      (skipped: promtool is neither in PATH nor named by PROMTOOL)');
      this.skip();
    }
    const tests = [];
    for (const [alertname, one] of Object.entries(CASES)) {
      const firing = `count(ALERTS{alertname="${alertname}",alertstate="firing"})`;
      tests.push({
        name: alertname,
        interval: '1m',
        input_series: await seriesOf(one),
        promql_expr_test: [
          { expr: firing, eval_time: `${EVENT_AT + one.firesAfter}m`, exp_samples: [{ labels: '{}', value: alertname === 'CurbcutDependencyDown' ? 3 : 1 }] }, // prettier-ignore
          // Nothing fires for a process that has just started.
          ...(one.event ? [{ expr: firing, eval_time: `${EVENT_AT - 1}m`, exp_samples: [] }] : []),
        ],
      });
    }
    const folder = mkdtempSync(join(tmpdir(), 'curbcut-alerts-'));
    try {
      const file = join(folder, 'tests.yaml');
      writeFileSync(file, stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests }));
      execFileSync(promtool, ['test', 'rules', file], { stdio: 'pipe', encoding: 'utf8' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
