/**
 * `make parity URLS=file`: compares the scanner's findings with a plain run of axe-core on the page at rest, node by node,
 * over any list of addresses. Each page gets every wait, as the first page of a template does.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { chromium, type Browser } from 'playwright-core';
import { engineOf } from '../report/schema/engines.ts';
import type { ReportViolation } from '../report/schema/page.ts';
import { axeTags } from '../core/scan/options.ts';
import { findChromium } from '../scanner-image/page/browser/chromium.ts';
import { BUDGET_MS, openOnePageScanner, thisMachine, type OnePageScanner } from './one-page-scanner.ts';
import { plainAxe, type PlainFindings } from './plain-axe.ts';

const HELP = `Usage: make parity URLS=file [REST=3000]

  file    one address per line; empty lines and lines that begin with # are ignored
  REST    milliseconds that the plain run waits after it has loaded the page and scrolled through it

ALLOW_TARGETS names private addresses that may be visited; loopback always may. The plain run is not guarded: list only pages
that this machine may open. The exit status is 1 if findings differ or a page could not be compared.`;

/** One page's comparison. `unstable` lines differ between two plain runs, so the page itself changes. */
interface Compared {
  /** Found by our own checks, or decided where the plain run needs review. */
  own: string[];
  onlyScanner: string[];
  onlyPlain: string[];
  unstable: string[];
}

const REVIEW = 'review: ';
const without = (lines: readonly string[], others: readonly string[]): string[] => lines.filter((line) => !others.includes(line));
const allOf = ({ violations, needsReview }: PlainFindings): string[] => [...violations, ...needsReview.map((line) => REVIEW + line)];

/** `rule selector` lines in the form of `plainAxe`. */
function linesOf(violations: readonly ReportViolation[]): string[] {
  return violations
    .flatMap(({ rule, nodes }) =>
      nodes.map((node) => `${rule} ${[...node.frame_path, [...node.shadow_path, node.selector].join(' > ')].join(' | ')}`),
    )
    .map((line) => line.replaceAll(' >>> ', ' > '));
}

/** Whether a line that only the scanner has comes from our own checks, of which color-contrast has those that need review otherwise. */
function isOwn(line: string, onlyPlain: readonly string[]): boolean {
  const rule = line.replace(REVIEW, '').split(' ')[0]!;
  const engine = engineOf(rule);
  return engine !== 'axe-core' && (rule !== 'color-contrast' || onlyPlain.includes(REVIEW + line));
}

/** Compares the scanner's lines with those of a plain run, and of a second one if they differ. */
async function compare(ours: string[], plain: () => Promise<PlainFindings>): Promise<Compared> {
  const first = allOf(await plain());
  const differs = without(ours, first).length + without(first, ours).length > 0;
  const second = differs ? allOf(await plain()) : first;
  const unstable = [...without(first, second), ...without(second, first)];
  const onlyPlain = without(without(first, ours), unstable);
  const onlyScanner = without(without(ours, first), unstable);
  const own = onlyScanner.filter((line) => isOwn(line, onlyPlain));
  const decided = own.map((line) => REVIEW + line);
  return { own, onlyScanner: without(onlyScanner, own), onlyPlain: without(onlyPlain, decided), unstable };
}

/** @returns whether the findings are equal */
async function showPage(url: URL, scanner: OnePageScanner, browser: Browser, restMs: number): Promise<boolean> {
  const visit = await scanner.visit(url);
  if (!visit.loaded || visit.findings === null) {
    console.log(`${url.href}\n  not compared: ${visit.loaded ? 'it was not tested' : `${visit.reason}: ${visit.message}`}`);
    return false;
  }
  const { violations, needsReview } = visit.findings;
  const ours = allOf({ violations: linesOf(violations), needsReview: linesOf(needsReview) });
  const plain = (): Promise<PlainFindings> => plainAxe(browser, url.href, { tags: axeTags('AA', '2.1'), restMs, limitMs: BUDGET_MS });
  const { own, onlyScanner, onlyPlain, unstable } = await compare(ours, plain);
  const isEqual = onlyScanner.length + onlyPlain.length === 0;
  console.log(`${url.href}\n  ${isEqual ? 'equal' : 'different'}: ${ours.length} findings, ${visit.durationMs} ms`);
  for (const { kind, message } of visit.caveats) console.log(`  caveat ${kind}: ${message}`);
  for (const line of own) console.log(`  by our own checks: ${line}`);
  for (const line of onlyScanner) console.log(`  only the scanner: ${line}`);
  for (const line of onlyPlain) console.log(`  only the plain run: ${line}`);
  if (unstable.length > 0) console.log(`  ${unstable.length} findings differ between two plain runs: the page changes by itself`);
  return isEqual;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rest: { type: 'string', default: '3000' }, help: { type: 'boolean', short: 'h', default: false } },
});
if (values.help) {
  console.log(HELP);
  process.exit();
}
const [file] = positionals;
const restMs = Number(values.rest);
if (file === undefined || !Number.isInteger(restMs) || restMs < 0) {
  console.error(HELP);
  process.exit(2);
}
const lines = readFileSync(file, 'utf8').split('\n').map((line) => line.trim()); // prettier-ignore
const urls = lines.filter((line) => line !== '' && !line.startsWith('#'));
const wrong = urls.filter((url) => !URL.canParse(url));
if (wrong.length > 0 || urls.length === 0) {
  console.error(wrong.length > 0 ? `${file}: not an address: ${wrong.join(', ')}` : `${file} has no addresses.`);
  process.exit(2);
}
const machine = thisMachine();
const scanner = await openOnePageScanner({ level: 'AA', version: '2.1' });
const browser = await chromium.launch({ executablePath: findChromium(machine), chromiumSandbox: !machine.root });
let equal = 0;
try {
  for (const url of urls) {
    const isEqual = await showPage(new URL(url), scanner, browser, restMs).catch((error: unknown) => {
      console.log(`${url}\n  not compared: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    });
    if (isEqual) equal += 1;
  }
} finally {
  await Promise.all([scanner.close(), browser.close()]);
}
console.log(`\n${equal} of ${urls.length} pages have equal findings`);
process.exitCode = equal === urls.length ? 0 : 1;
