/** Makes the report of a large scan as the scanner pod does, and prints what it took as JSON. Runs as a process of its own. */
import { EXPORT_MAX_BYTES } from '../core/protocol/pod-messages.ts';
import { createFindingsBudget } from '../report/results/cap-nodes.ts';
import { picturesOf } from '../report/results/pictures.ts';
import type { ReportNode, TestedPage } from '../report/schema/page.ts';
import type { Report } from '../report/schema/report.ts';
import { IMPACTS } from '../core/scan/impacts.ts';
import { buildReport, fitReport } from '../report/results/build.ts';
import { renderPdf } from '../report/pdf/render.ts';
import { sampleInput, sampleNode, samplePage, sampleViolation } from '../test/report/samples.ts';

const [pageCount = 500, perPage = 40] = process.argv.slice(2).map(Number);
const RULES = 20;

/** Half of the elements belong to the site's templates, the other half to one page each. */
function node(page: number, index: number): ReportNode {
  const isOwn = index % 2 === 0;
  const kind = isOwn
    ? `p${page}-${index}`.replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!)
    : `component-${'abcdefghijklmnopqrst'[index % 20]}`;
  const words = `A text of this element on page ${page}, which nobody else has. `.repeat(4);
  const html = `<a class="card ${kind} rounded shadow-lg px-4 py-2 text-sm" href="/section/${page}/${index}"><span class="icon ${kind}"></span>${words}</a>`;
  return sampleNode(html, `main > section:nth-child(${index}) > div.grid > a.card:nth-child(${page % 30})`);
}

function makePage(page: number): TestedPage {
  const rules = Array.from({ length: RULES }, (_, rule) =>
    sampleViolation(
      `rule-${rule}`,
      IMPACTS[rule % 4]!,
      `Elements of kind ${rule} must have what they need`,
      Array.from({ length: perPage / RULES }, (_, at) => node(page, rule + at * RULES + at)),
    ),
  );
  return samplePage(`https://www.example.org/section-${page % 20}/page-${page}`, `Page ${page} of a large site`, rules);
}

const pages = Array.from({ length: pageCount }, (_, page) => makePage(page));
const before = process.memoryUsage.rss();
const started = performance.now();
const cpu = process.cpuUsage();
const budget = createFindingsBudget(EXPORT_MAX_BYTES / 8, pageCount);
const kept = pages.map((page) => budget.take(page));
const tools = { curbcut: '0.0.0', axe_core: '0.0.0', browser: 'none' };
const build = (capped: Report['pages']): Report =>
  buildReport({ input: sampleInput(), pages: capped, tools, startedAt: new Date(0), finishedAt: new Date(1) });
const fitted = fitReport(build, { pages: kept, pictures: new Map() }, EXPORT_MAX_BYTES / 4);
if (fitted === null) throw new Error('the report does not fit');
const aggregated = performance.now();
const pdf = await renderPdf(fitted.report, { pictures: picturesOf(fitted.pictures) });
const ended = performance.now();
console.log(
  JSON.stringify({
    violations: fitted.report.counts.total,
    causes: fitted.report.groups.length,
    exportSeconds: (aggregated - started) / 1000,
    pdfSeconds: (ended - aggregated) / 1000,
    /** Independent of other processes on the machine. */
    cpuSeconds: Object.values(process.cpuUsage(cpu)).reduce((sum, micros) => sum + micros, 0) / 1e6,
    exportBytes: fitted.text.byteLength,
    pdfBytes: pdf.byteLength,
    /** Of the process before the report, and at most. */
    beforeBytes: before,
    peakBytes: process.resourceUsage().maxRSS * 1024,
  }),
);
