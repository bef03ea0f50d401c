/** The compared scanners: each tests the same pages with the same axe-core and Chromium, measured as a whole process. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PodInput, Team } from '../core/protocol/pod-messages.ts';
import { SCANNER_PROGRAM } from '../core/protocol/scanner-program.ts';
import type { Report } from '../report/schema/report.ts';
import { withDefaults } from '../core/scan/options.ts';
import type { BareFindings } from './bare-loop.ts';
import { measure, type Measured } from './measure.ts';
import { startMessages } from '../local/messages/messages.ts';
import { createMessageBus } from '../stores/nats.ts';
import { silentLogger } from '../test/support/silent-logger.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';

const ROOT = join(import.meta.dirname, '..');
const PEERS = join(import.meta.dirname, 'peers', 'node_modules');
const CHROMIUM = '/usr/bin/chromium';
const COMPILE_CACHE = join(tmpdir(), 'curbcut-bench-compiled');
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';

/** Failing elements by page and rule. */
export type BenchFindings = Map<string, Map<string, number>>;
export interface Run {
  measured: Measured;
  /** Number of tested pages. */
  pages: number;
  findings: BenchFindings;
  /** From the start of the process until the first page was tested; only for Curbcut. */
  firstPageSeconds?: number;
}
export interface Scanner {
  name: string;
  /** @param memory whether memory is measured too, which takes time from the scanner */
  run(site: string, pages: readonly string[], memory: boolean): Promise<Run>;
}

const add = (findings: BenchFindings, page: string, rule: string, elements: number): void => {
  const rules = findings.get(page) ?? new Map<string, number>();
  rules.set(rule, (rules.get(rule) ?? 0) + elements);
  findings.set(page, rules);
};

/** Curbcut's scanner program as it runs in a pod: crawl, test, export and PDF, uploaded over HTTP. */
export function curbcut(workers: number, { pictures = false, states = false, pods = 1 } = {}): Scanner {
  const more = `${pictures ? ', pictures' : ''}${states ? ', states' : ''}`;
  const inPods = pods === 1 ? '' : ` in each of ${pods} pods`;
  return {
    name: `Curbcut, ${workers} worker${workers === 1 ? '' : 's'}${inPods} (crawl, PDF and export${more} included)`,
    async run(site, pages, memory) {
      const stored = new Map<string, Buffer>();
      const sink = createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          stored.set(request.url!, Buffer.concat(chunks));
          response.end();
        });
      });
      await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
      const base = `http://127.0.0.1:${(sink.address() as { port: number }).port}`;
      const dir = await mkdtemp(join(tmpdir(), 'curbcut-bench-'));
      const closing: (() => Promise<unknown>)[] = [];
      try {
        const input: PodInput = {
          version: CURBCUT_VERSION,
          scanId: '00000000-0000-4000-8000-000000000000',
          submittedAt: new Date().toISOString(),
          options: withDefaults({ url: site, maxPages: pages.length, pictures, ...(!states && { states: [] }) }),
          pagesReserved: pages.length,
          uploads: [
            {
              attempt: 0,
              shard: 0,
              export: `${base}/report.json`,
              pdf: `${base}/report.pdf`,
              pictures: `${base}/pictures`,
              result: `${base}/result.json`,
            },
          ],
          deadline: new Date(Date.now() + 3_600_000).toISOString(),
          uploadDeadline: new Date(Date.now() + 3_600_000).toISOString(),
          allowTargets: ['127.0.0.0/8'],
          denyTargets: [],
          workers,
          pageBudgetMs: 30_000,
          exportMaxBytes: 64_000_000,
        };
        const [first, ...others] = await inputsOf(input, pods, dir, closing);
        const environment = {
          ...process.env,
          SCAN_INPUT: first,
          TERMINATION_LOG: join(dir, 'termination'),
          TMPDIR: dir,
          CHROMIUM_PATH: HEADLESS_SHELL,
          // As in the image, where it is filled when the image is built; here the first run fills it.
          NODE_COMPILE_CACHE: COMPILE_CACHE,
        };
        // The time begins when the others are there, as nodes do that have the image.
        for (const path of others) closing.push(startHelper(path, { ...environment, SCAN_INPUT: path }));
        const measured = await measure(process.execPath, [...SCANNER_PROGRAM], { environment, cwd: ROOT, memory });
        const report = JSON.parse(stored.get('/report.json')?.toString() ?? '{"pages":[]}') as Report;
        const findings: BenchFindings = new Map();
        const tested = report.pages.filter((page) => page.tested);
        for (const page of tested) {
          findings.set(page.final_url, new Map());
          for (const { rule, nodes } of page.violations) add(findings, page.final_url, rule, nodes.length);
        }
        return { measured, pages: tested.length, findings, firstPageSeconds: firstPageSeconds(measured) };
      } finally {
        sink.close();
        for (const close of closing.reverse()) await close();
        await rm(dir, { recursive: true, force: true });
      }
    },
  };
}

/** Writes the input of each pod. Several speak over a message bus of their own. @returns the paths */
async function inputsOf(input: PodInput, pods: number, dir: string, closing: (() => Promise<unknown>)[]): Promise<string[]> {
  let team: Team[] = [];
  if (pods > 1) {
    const messages = await startMessages({ dataDir: dir });
    const bus = createMessageBus({ ...messages, logger: silentLogger });
    closing.push(messages.close, bus.close);
    team = bus.issueTeam(input.scanId, pods, new Date(input.uploadDeadline))!;
  }
  return Promise.all(
    Array.from({ length: pods }, async (_, index) => {
      const path = join(dir, `scan-${index}.json`);
      await writeFile(path, JSON.stringify({ ...input, ...(pods > 1 && { team: team[index] }), ...(index > 0 && { uploads: [] }) }));
      return path;
    }),
  );
}

/** @returns a function that ends it, if the scan has not */
function startHelper(path: string, env: NodeJS.ProcessEnv): () => Promise<void> {
  const child = spawn(process.execPath, [...SCANNER_PROGRAM], {
    env: { ...env, TERMINATION_LOG: `${path}.log` },
    cwd: ROOT,
    stdio: 'ignore',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return () => {
    child.kill();
    return ended;
  };
}

/** Reads the log for the time of the first page. */
function firstPageSeconds({ stdout, startedAt }: Measured): number | undefined {
  const line = stdout.split('\n').find((text) => text.includes('"page tested"'));
  return line === undefined ? undefined : ((JSON.parse(line) as { time: number }).time - startedAt) / 1000;
}

/** A loop that only loads pages and runs axe-core in reused tabs: see bare-loop.ts. */
export function bareLoop(tabs: number): Scanner {
  return {
    name: `bare loop, ${tabs} reused tab${tabs === 1 ? '' : 's'} (load and axe-core only)`,
    async run(_site, pages, memory) {
      const args = [join(import.meta.dirname, 'bare-loop.ts'), String(tabs), ...pages];
      const environment = { ...process.env, CHROMIUM_PATH: HEADLESS_SHELL, NODE_COMPILE_CACHE: COMPILE_CACHE };
      const measured = await measure(process.execPath, args, { environment, memory });
      if (measured.code !== 0) throw new Error(`the bare loop failed:\n${measured.stderr.slice(-2000)}`);
      const findings: BenchFindings = new Map();
      for (const [page, rules] of Object.entries(JSON.parse(measured.stdout) as BareFindings)) {
        findings.set(page, new Map());
        for (const [rule, elements] of Object.entries(rules)) add(findings, page, rule, elements);
      }
      return { measured, pages: findings.size, findings };
    },
  };
}

/** pa11y-ci with its axe runner. */
export function pa11yCi(concurrency: number): Scanner {
  return {
    name: `pa11y-ci 4.1 (axe runner), concurrency ${concurrency}`,
    async run(_site, pages, memory) {
      const dir = await mkdtemp(join(tmpdir(), 'curbcut-bench-'));
      try {
        const config = {
          defaults: {
            runners: ['axe'],
            standard: 'WCAG2AA',
            concurrency,
            timeout: 60_000,
            chromeLaunchConfig: { executablePath: HEADLESS_SHELL, args: ['--no-sandbox'] },
          },
          // Use objects: plain strings share one configuration object, so concurrent tests close each other's browser
          // contexts and lose pages.
          urls: pages.map((url) => ({ url })),
        };
        await writeFile(join(dir, 'pa11yci.json'), JSON.stringify(config));
        const program = join(PEERS, 'pa11y-ci/bin/pa11y-ci.js');
        const measured = await measure(process.execPath, [program, '--json', '--config', join(dir, 'pa11yci.json')], { memory });
        const { results } = JSON.parse(measured.stdout) as {
          results: Record<string, { code?: string; type?: string; message?: string }[]>;
        };
        const findings: BenchFindings = new Map();
        let tested = 0;
        for (const [page, issues] of Object.entries(results)) {
          if (issues.some((issue) => issue.code === undefined)) continue; // an error instead of findings: the page was not tested
          tested += 1;
          findings.set(page, new Map());
          for (const { code } of issues) add(findings, page, code!, 1);
        }
        return { measured, pages: tested, findings };
      } finally {
        await rm(dir, { recursive: true, force: true });
      }
    },
  };
}

/** @axe-core/cli: one WebDriver session for all pages. */
export const axeCli: Scanner = {
  name: '@axe-core/cli 4.13',
  async run(_site, pages, memory) {
    const dir = await mkdtemp(join(tmpdir(), 'curbcut-bench-'));
    try {
      const args = [
        ...pages,
        '--tags',
        'wcag2a,wcag2aa,wcag21a,wcag21aa',
        '--save',
        'axe.json',
        '--dir',
        dir,
        '--chrome-options',
        'no-sandbox,headless=new',
        '--chrome-path',
        CHROMIUM,
        '--chromedriver-path',
        '/usr/bin/chromedriver',
      ];
      const measured = await measure(process.execPath, [join(PEERS, '@axe-core/cli/dist/src/bin/cli.js'), ...args], { memory });
      const results = JSON.parse(await readFile(join(dir, 'axe.json'), 'utf8')) as {
        url: string;
        violations: { id: string; nodes: unknown[] }[];
      }[];
      const findings: BenchFindings = new Map();
      for (const { url, violations } of results) {
        findings.set(url, new Map());
        for (const { id, nodes } of violations) add(findings, url, id, nodes.length);
      }
      return { measured, pages: results.length, findings };
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  },
};
