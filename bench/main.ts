/** `make bench`: compares Curbcut with other scanners, and measures submissions per second, memory and time to verdict. Asserts nothing. */
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { plantedFaults, SLOW_PAGES, startDemoSite } from '../demo-site/server.ts';
import { axeCli, bareLoop, curbcut, pa11yCi, type BenchFindings, type Run, type Scanner } from './scanners.ts';
import { readCounts } from './counts.ts';
import { measureDeletions } from './deletions.ts';
import { measureHtml, REPORT_SIZES } from './html.ts';
import { measureLongScan } from './long-scan.ts';
import { measureMemory } from './memory.ts';
import { measureNamespaces, type NamespacesCost } from './namespaces.ts';
import { measureOwnChecks } from './own-checks.ts';
import { measureScale } from './scale.ts';
import { measureStreams, type Delays } from './streams.ts';
import { measureStrangers } from './strangers.ts';
import { measureSubmissions } from './submissions.ts';
import { installPeers } from './tools.ts';
import { measureReport } from './report.ts';
import { measureVerdicts } from './verdict.ts';

const HELP = `Usage: make bench [BENCH="--only pages --rounds 3"]

  --only pages|submissions   one part only (default: both); submissions has polls too, and the API's CPU time by part
  --only memory              memory of API and operator, without scans and with many live scans
  --only long-scan           memory of the scanner over 500 pages (--pages N)
  --only states              pages with and without states, as two workers test them
  --only pods                pages as one pod with one worker tests them, and as two and four do
  --only own-checks          what our own checks add to the test of a page, on the demo site
  --only report              seconds and memory of the report of 500 pages (--pages N) with 20,000 violations
  --only html                server time of every HTML page with many scans stored, beside a static route; of a scan with
                             3,000 root causes, beside a small one; sizes
  --only counts              MongoDB commands, Kubernetes requests and subscriptions that the tests count
  --only deletions           seconds until live scans are settled and gone after kubectl delete
  --only scale               operator beside thousands of resources, on the API server of the cluster of KUBECONFIG
  --only namespaces          submission to Job, sockets and memory with 1, 50 and 200 watched namespaces (--namespaces N,N)
  --only streams             event streams of a replica (--streams N): admitted, memory, time from a change to its events
  --only strangers           polls with a key at rest and while strangers from 10,000 networks attack (--rate N requests per second)
  --only verdicts            time from submission to verdict on the cluster of KUBECONFIG
  --bare                     pages beside the bare loop only, without the other scanners
  --rounds N                 rounds of pages, own checks or verdicts (default 3; the median is shown)
  --submissions N            number of submissions and polls (default 500)
  --live N                   live scans when memory or deletions are measured (default 1000)
  --scans N, --schedules N   ended scans and schedules when scale is measured (default 5000 and 1000)
  --stored N                 stored scans when pages are measured (default 10000)
  --requests N               requests of each page, sequential and with 8 connections (default 200)

Results are also written to bench/results/, as JSON.`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    submissions: { type: 'string', default: '500' },
    live: { type: 'string', default: '1000' },
    scans: { type: 'string', default: '5000' },
    schedules: { type: 'string', default: '1000' },
    stored: { type: 'string', default: '10000' },
    namespaces: { type: 'string', default: '1,50,200' },
    requests: { type: 'string', default: '200' },
    streams: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '200' },
    pages: { type: 'string', default: '500' },
    bare: { type: 'boolean', default: false },
    help: { type: 'boolean' },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const median = (numbers: readonly number[]): number => [...numbers].sort((one, other) => one - other)[Math.floor(numbers.length / 2)]!;
const results: Record<string, unknown> = {
  at: new Date().toISOString(),
  machine: `${cpus().length} × ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  node: process.version,
};

/** The pages on which two scanners found different rules or numbers of elements. */
function differences(one: BenchFindings, other: BenchFindings, pages: readonly string[]): string[] {
  const text = (findings: BenchFindings, page: string): string => JSON.stringify([...(findings.get(page) ?? [])].sort());
  return pages.filter((page) => text(one, page) !== text(other, page));
}
const elements = (findings: BenchFindings): number =>
  [...findings.values()].reduce((sum, rules) => sum + [...rules.values()].reduce((all, count) => all + count, 0), 0);

async function pages(): Promise<void> {
  if (!values.bare) installPeers();
  const others = values.bare ? [] : [pa11yCi(1), pa11yCi(2), axeCli];
  await compare([curbcut(2), bareLoop(2), curbcut(2, { pictures: true }), curbcut(1), bareLoop(1), ...others]);
}

async function compare(scanners: readonly Scanner[]): Promise<void> {
  const demo = await startDemoSite({});
  try {
    // The compared pages are those that Curbcut's crawl finds; the other scanners get them as a list.
    const first = await curbcut(2).run(
      demo.url,
      Array.from({ length: 500 }, () => ''),
      false,
    );
    const list = [...first.findings.keys()];
    if (first.pages === 0)
      throw new Error(`the demo site could not be scanned:\n${first.measured.stderr.slice(-2000)}${first.measured.stdout.slice(-2000)}`);
    const runs = new Map<string, Run[]>();
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const scanner of scanners) {
        process.stderr.write(`bench: round ${round + 1}, ${scanner.name}\n`);
        const run = await scanner.run(demo.url, list, false);
        runs.set(scanner.name, [...(runs.get(scanner.name) ?? []), run]);
      }
    }
    const peaks = new Map<string, Run>();
    for (const scanner of scanners) {
      process.stderr.write(`bench: memory, ${scanner.name}\n`);
      peaks.set(scanner.name, await scanner.run(demo.url, list, true));
    }
    const ours = runs.get(scanners[0]!.name)!;
    const rate = (run: Run): number => (60 * run.pages) / run.measured.seconds;
    const best = median(ours.map(rate));
    console.log(
      `\nPages per minute, ${list.length} pages of the demo site, whole process, median of ${values.rounds} alternating rounds; memory in a round of its own\n`,
    );
    console.log(
      '| scanner | pages/min | Curbcut ÷ scanner | pages tested | first page | peak memory (PSS, with browser) | failing elements | pages whose findings differ from Curbcut |\n|---|---|---|---|---|---|---|---|',
    );
    results.pages = scanners.map(({ name }) => {
      const all = runs.get(name)!;
      const last = all.at(-1)!;
      const memory = peaks.get(name)!;
      const fewest = Math.min(...[...all, memory].map((run) => run.pages));
      // A rate over fewer pages would compare different work.
      const pagesPerMinute = fewest === list.length ? median(all.map(rate)) : null;
      const row = {
        name,
        pagesPerMinute: pagesPerMinute && Math.round(pagesPerMinute),
        ratio: pagesPerMinute && Number((best / pagesPerMinute).toFixed(2)),
        tested: fewest,
        firstPageSeconds: last.firstPageSeconds === undefined ? null : Number(median(all.map((run) => run.firstPageSeconds!)).toFixed(2)),
        peakMiB: Math.round(memory.measured.peakBytes / 2 ** 20),
        elements: elements(last.findings),
        differing: differences(ours.at(-1)!.findings, last.findings, list),
      };
      console.log(
        `| ${row.name} | ${row.pagesPerMinute ?? 'none: pages are missing'} | ${row.ratio ?? '–'} | ${row.tested} of ${list.length} | ${row.firstPageSeconds === null ? '–' : `${row.firstPageSeconds} s`} | ${row.peakMiB} MiB | ${row.elements} | ${row.differing.length} |`,
      );
      return row;
    });
  } finally {
    await demo.close();
  }
}

async function submissions(): Promise<void> {
  const measured = await measureSubmissions(Number(values.submissions));
  const { submission, poll, bare, constant } = measured;
  console.log(`\n${values.submissions} of each, 16 at once, embedded stack on the same machine, with a profiler in the API\n`);
  console.log(
    '| | per second | ÷ baseline | p50 ms | p99 ms | CPU ms: API | operator | stack and client |\n|---|---|---|---|---|---|---|---|',
  );
  for (const [name, { cpuMs, ...rate }, baseline] of [
    ['submission ÷ creation of the bare resource', submission, bare],
    ['poll ÷ constant answer of Fastify', poll, constant],
  ] as const)
    console.log(
      `| ${name} | ${rate.perSecond.toFixed(0)} | ${(rate.perSecond / baseline.perSecond).toFixed(2)} | ${rate.p50Ms.toFixed(0)} | ${rate.p99Ms.toFixed(0)} | ${cpuMs.api.toFixed(1)} | ${cpuMs.operator.toFixed(1)} | ${cpuMs.rest.toFixed(1)} |`,
    );
  console.log('\n| CPU ms of the API in | submission | poll |\n|---|---|---|');
  const ofPoll = new Map(poll.parts);
  for (const [part, ms] of submission.parts) console.log(`| ${part} | ${ms.toFixed(2)} | ${(ofPoll.get(part) ?? 0).toFixed(2)} |`);
  results.submissions = measured;
}

async function report(): Promise<void> {
  const cost = await measureReport(Number(values.pages), 40);
  const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  console.log(`\nThe report of ${values.pages} pages with ${cost.violations} violations and ${cost.causes} root causes\n`);
  console.log(`aggregation and export: ${cost.exportSeconds.toFixed(1)} s, ${mb(cost.exportBytes)}`);
  console.log(`PDF: ${cost.pdfSeconds.toFixed(1)} s, ${mb(cost.pdfBytes)}`);
  console.log(`CPU: ${cost.cpuSeconds.toFixed(1)} s; memory ${mb(cost.beforeBytes)} before, ${mb(cost.peakBytes)} at most`);
  results.report = cost;
}

async function ownChecks(): Promise<void> {
  const demo = await startDemoSite({});
  try {
    const urls = Object.keys(plantedFaults()).flatMap((path, at) => (SLOW_PAGES.test(path) || at % 4 !== 0 ? [] : [demo.url + path]));
    const { without, added } = await measureOwnChecks(urls, Number(values.rounds));
    const ratio = median(added.map((ms, at) => (without[at]! + ms) / without[at]!));
    const ms = (value: number): string => `${value.toFixed(2)} ms`;
    console.log(
      `\nOur own checks on ${urls.length} pages of the demo site, ${values.rounds} rounds with and without them in turn, CPU time of the page\n`,
    );
    console.log(`test of a page without them: ${ms(median(without))}; with ÷ without: ${ratio.toFixed(3)}`);
    console.log(`they add: median ${ms(median(added))}, worst page ${ms(Math.max(...added))}`);
    results.ownChecks = { pages: urls.length, withoutMs: median(without), addedMs: median(added), worstMs: Math.max(...added), ratio };
  } finally {
    await demo.close();
  }
}

async function memory(): Promise<void> {
  const held = await measureMemory(Number(values.live));
  const mb = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
  console.log(`\nResident memory; ${held.scans} scans were live, each with Job, Secret and pod, after ${held.seconds.toFixed(0)} s\n`);
  console.log(`| | no scan | all live | peak |\n|---|---|---|---|`);
  for (const name of ['operator', 'api'] as const)
    console.log(`| ${name} | ${mb(held[name].idle)} | ${mb(held[name].live)} | ${mb(held[name].peak)} |`);
  results.memory = held;
}

async function deletions(): Promise<void> {
  const { scans, command, gone, settled, children } = await measureDeletions(Number(values.live));
  console.log(`\nDeletion of ${scans} live scans, each with Job, Secret and pod, embedded stack on the same machine\n`);
  console.log(
    `kubectl delete returned after ${command.toFixed(1)} s; all resources gone after ${gone.toFixed(1)} s, credits settled after ${settled.toFixed(1)} s, Jobs and pods gone after ${children.toFixed(1)} s`,
  );
  results.deletions = { scans, command, gone, settled, children };
}

async function longScan(): Promise<void> {
  const { run, fifths } = await measureLongScan(Number(values.pages));
  const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
  console.log(`\nA scan of ${run.pages} pages with two workers, proportional set with browser, ${run.measured.seconds.toFixed(0)} s\n`);
  console.log(`peak of each fifth: ${fifths.map(mib).join(', ')}`);
  results.longScan = { pages: run.pages, seconds: run.measured.seconds, fifths };
}

async function html(): Promise<void> {
  const { scans, peer, pages, reports } = await measureHtml(Number(values.stored), Number(values.requests));
  const ms = (value: number): string => value.toFixed(1);
  const kb = (bytes: number): string => (bytes / 1000).toFixed(1);
  console.log(`\nHTML pages with ${scans} scans stored, ${values.requests} requests each, embedded stack on the same machine\n`);
  console.log('| page | status | p50 ms | p95 ms | p95 ÷ static route | p50 ms, 8 at once | p95 ms, 8 at once | KB | KB with assets |');
  console.log('|---|---|---|---|---|---|---|---|---|');
  for (const page of [{ route: 'static route', ratio: 1, ...peer }, ...pages])
    console.log(
      `| ${page.route} | ${page.status} | ${ms(page.sequential.p50)} | ${ms(page.sequential.p95)} | ${page.ratio.toFixed(1)} | ${ms(page.parallel.p50)} | ${ms(page.parallel.p95)} | ${kb(page.bytes)} | ${kb(page.withAssets)} |`,
    );
  const { small, large } = REPORT_SIZES;
  console.log(`\nScans of ${large.pages} pages with ${large.causes} root causes, beside ${small.pages} pages with ${small.causes}\n`);
  console.log(
    '| page | CPU ms | CPU ms, smaller scan | first request ms | p50 ms | p95 ms | p95 ÷ smaller scan | p95 ÷ static route | KB of HTML | KB |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|---|');
  for (const { route, small: one, large: page } of reports)
    console.log(
      `| ${route} | ${ms(page.cpuMs!)} | ${ms(one.cpuMs!)} | ${ms(page.firstMs)} | ${ms(page.sequential.p50)} | ${ms(page.sequential.p95)} | ${(page.sequential.p95 / one.sequential.p95).toFixed(1)} | ${(page.sequential.p95 / peer.sequential.p95).toFixed(1)} | ${kb(page.htmlBytes)} | ${kb(page.bytes)} |`,
    );
  results.html = { scans, peer, pages, reports };
}

async function scale(): Promise<void> {
  if (!process.env.KUBECONFIG) throw new Error('KUBECONFIG is not set: scale is measured on the API server of a cluster.');
  const { scans, schedules, rest, bare, late, memoryLive, deletion } = await measureScale(
    process.env.KUBECONFIG,
    Number(values.scans),
    Number(values.schedules),
  );
  const mb = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
  const seconds = (value: number): string => `${value.toFixed(1)} s`;
  console.log(`\nThe operator beside ${scans} ended scans and ${schedules} schedules, API server of the cluster\n`);
  console.log(`at rest: ${(100 * rest.cpu).toFixed(1)} % of a core, ${mb(rest.memory)} resident`);
  console.log(`all schedules due in one minute: p50 ${seconds(late.p50)}, p99 ${seconds(late.p99)}, last ${seconds(late.max)} after it`);
  console.log(`bare creation of ${schedules} resources: ${seconds(bare)}; ratio ${(late.max / bare).toFixed(1)}`);
  console.log(`their ${schedules} scans live: ${mb(memoryLive)} resident`);
  console.log(`deletion of these ${deletion.scans}: gone after ${seconds(deletion.gone)}, settled after ${seconds(deletion.settled)}`);
  results.scale = { scans, schedules, rest, bare, late, memoryLive, deletion };
}

async function namespaces(): Promise<void> {
  const rows: NamespacesCost[] = [];
  for (const count of values.namespaces.split(',').map(Number)) {
    process.stderr.write(`bench: ${count} namespaces\n`);
    rows.push(await measureNamespaces(count, 10));
  }
  console.log('\nTime from submission to Job beside empty watched namespaces, 10 scans, embedded stack on the same machine\n');
  console.log(
    '| namespaces | first Job | median | maximum | broken watches | open files | resident memory |\n|---|---|---|---|---|---|---|',
  );
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
  for (const { job, ...row } of rows)
    console.log(
      `| ${row.namespaces} | ${seconds(job.first)} | ${seconds(job.median)} | ${seconds(job.max)} | ${row.restarts} | ${row.openFiles} | ${Math.round(row.memory / 1e6)} MB |`,
    );
  results.namespaces = rows;
}

async function counts(): Promise<void> {
  const rows = await readCounts();
  console.log(`\n| | count |\n|---|---|`);
  for (const { what, count } of rows) console.log(`| ${what} | ${count} |`);
  results.counts = rows;
}

async function streams(): Promise<void> {
  const cost = await measureStreams(Number(values.streams));
  console.log(
    `\nEvent streams of one API replica: ${cost.admitted} of ${cost.requested} admitted, ${(cost.heapBytes / 1000).toFixed(1)} KB of heap each\n`,
  );
  console.log('| from a change to its events | events | p50 | p99 | last ÷ first |\n|---|---|---|---|---|');
  const row = (name: string, { events, p50, p99, lastToFirst }: Delays): void =>
    console.log(`| ${name} | ${events} | ${p50.toFixed(1)} ms | ${p99.toFixed(1)} ms | ${lastToFirst.toFixed(1)} |`);
  row('of one scan', cost.single);
  row('of all scans at once', cost.burst);
  results.streams = cost;
}

async function strangers(): Promise<void> {
  const cost = await measureStrangers(Number(values.rounds), Number(values.rate));
  console.log(
    `\nPolls with a key, ${values.rounds} rounds at rest and under attack in turn, ${values.rate} requests of strangers per second\n`,
  );
  const row = (name: string, { p50, p95 }: { p50: number; p95: number }): void =>
    console.log(`| ${name} | ${p50.toFixed(1)} ms | ${p95.toFixed(1)} ms |`);
  console.log('| | p50 | p95 |\n|---|---|---|');
  row('at rest', cost.rest);
  row('while another server is attacked', cost.control);
  row('under attack', cost.attacked);
  const ratio = ({ p95 }: { p95: number }): string => (cost.attacked.p95 / p95).toFixed(2);
  console.log(
    `\np95 under attack ÷ at rest: ${ratio(cost.rest)}, ÷ while another server is attacked: ${ratio(cost.control)}; answers to strangers: ${JSON.stringify(cost.strangers)}`,
  );
  results.strangers = cost;
}

async function verdicts(): Promise<void> {
  const waits = await measureVerdicts(Number(values.rounds));
  const row = (name: string, all: readonly number[]): void =>
    console.log(`| ${name} | ${(median(all) / 1000).toFixed(1)} s | ${all.map((ms) => (ms / 1000).toFixed(1)).join(' ')} |`);
  console.log(`\nA site with one page, load average ${waits.loadAverage.toFixed(1)}\n\n| | median | each |\n|---|---|---|`);
  row('from submission to running pod', waits.scans.map(({ started }) => started)); // prettier-ignore
  row('from submission to verdict', waits.scans.map(({ verdict }) => verdict)); // prettier-ignore
  row('empty Job: from creation to running pod', waits.jobs.map(({ started }) => started)); // prettier-ignore
  row('empty Job: from creation to Complete', waits.jobs.map(({ complete }) => complete)); // prettier-ignore
  results.verdicts = waits;
}

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  pages,
  submissions,
  pods: () => compare([curbcut(1), curbcut(1, { pods: 2 }), curbcut(1, { pods: 4 }), curbcut(2)]),
  states: () => compare([curbcut(2), curbcut(2, { states: true })]),
  'own-checks': ownChecks,
  memory,
  'long-scan': longScan,
  report,
  html,
  counts,
  deletions,
  scale,
  namespaces,
  streams,
  strangers,
  verdicts,
};
for (const part of values.only === undefined ? ['pages', 'submissions'] : [values.only]) {
  if (!Object.hasOwn(PARTS, part)) throw new Error(`--only ${part} must be one of ${Object.keys(PARTS).join(', ')}`);
  await PARTS[part]!();
}
const folder = join(import.meta.dirname, 'results');
await mkdir(folder, { recursive: true });
await writeFile(join(folder, `${new Date().toISOString().replaceAll(':', '-')}.json`), `${JSON.stringify(results, null, 2)}\n`);
