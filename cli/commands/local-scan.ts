/** `curbcut scan --local URL`: the scanner's program on this machine, without a service, Kubernetes or credits. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { EXPORT_MAX_BYTES } from '../../core/protocol/pod-messages.ts';
import { SCANNER_DEFAULTS } from '../../core/protocol/scanner-program.ts';
import { discoveryNotes } from '../../report/view/gaps.ts';
import { consentSentence } from '../../report/view/sentences.ts';
import type { ReportFormat } from '../../report/schema/objects.ts';
import { outcomeOf } from '../../report/results/results.ts';
import type { Report } from '../../report/schema/report.ts';
import type { BaselineCount } from '../../core/scan/baseline.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { chooseKnownIssues, type ChosenKnownIssues } from '../../core/scan/known-issues.ts';
import { siteOf } from '../../core/scan/site.ts';
import { siteFrom, type SiteOptions } from '../links.ts';
import type { Metadata } from '../../core/scan/metadata.ts';
import { judgeWithoutResult, type Thresholds } from '../../core/scan/thresholds.ts';
import { CliError, errorMessage } from '../errors.ts';
import { runScanner, type ScannerResults } from './scanner-process.ts';
import { checkFiles, type Files, writeReport } from '../service/reports.ts';
import type { Outcome } from '../../core/scan/outcome.ts';
import { comparisonResult, knownResult, scoreAndCounts } from '../../core/scan/result.ts';
import type { ScanResult } from '../service/messages.ts';
import type { ProgressView } from '../progress.ts';
import { type CliContext, type Output, reportEnd, type ReportSource } from './output.ts';

/**
 * Results of scans in the form of the scan object of the HTTP API: the same for a service, a cluster and a local scan. Pure. A scan that
 * has no scan object.
 */
export interface Described {
  scanId: string;
  url: string;
  status: string;
  /** Null without a result. */
  outcome: Outcome | null;
  passed: boolean | null;
  message: string | null;
  /** Relative to the address of the service; null: there is no report, or no service. */
  reportUrl: string | null;
  metadata: Metadata;
}

/** A result with all fields that the command line reads. */
export type FullResult = ScanResult & { url: string; metadata: Metadata };

export function resultOf({ scanId, url, status, outcome, passed, message, reportUrl, metadata }: Described): FullResult {
  return {
    scan_id: scanId,
    url,
    status,
    ...scoreAndCounts(outcome),
    passed,
    message,
    report_url: reportUrl,
    metadata,
    baseline: outcome?.baseline === undefined ? null : comparisonResult(outcome.baseline),
    known_issues: knownResult(outcome),
  };
}

/** A deadline that no scan on a developer's machine reaches; Ctrl-C ends it earlier. In milliseconds. */
const DEADLINE_MS = 24 * 3_600_000;
/** Whoever names an address on the command line may reach it. Pages that it embeds from other private networks stay blocked. */
const OWN_MACHINE = ['127.0.0.0/8', '::1/128', 'localhost'];

/** A scan on this machine. */
export interface LocalScan extends SiteOptions {
  url: string;
  thresholds: Thresholds;
  metadata?: Metadata;
  /** The folder with the keys of the sign-in, one file per key. */
  auth?: string;
  /** The JSON export of an earlier scan, and whether the scan may pass if it cannot be compared. */
  baseline?: { file: string; optional: boolean; count?: BaselineCount };
  /** The file with the manifests, and the host whose known issues apply if it is another one than that of the scan. */
  knownIssues?: { file: string; site?: string };
  /** False: the host of the URL must be public, or allowed by ALLOW_TARGETS, because no person named it. */
  hostAllowed?: boolean;
}

/** Runs the scan and prints its result. @returns the exit code @throws CliError */
export async function scanLocally(scan: LocalScan, output: Output, quiet: boolean, context: CliContext): Promise<number> {
  await checkFiles(output.files);
  const { result, done } = await runLocally(scan, output.progress, context);
  const source: ReportSource =
    done === null
      ? { save: () => Promise.resolve() }
      : { save: (files) => save(files, done.files, done.report), read: () => Promise.resolve(done.report) };
  return reportEnd(result, source, output, quiet, context);
}

/** A local scan that has ended. `done` is null if the site could not be tested; `result` says why. */
export interface LocalEnd {
  result: FullResult;
  done: { report: Report; files: ScannerResults } | null;
}

/** Runs the scan. @throws CliError if the scanner cannot run */
export async function runLocally(
  scan: LocalScan,
  progress: Pick<ProgressView, 'step' | 'note'>,
  context: Pick<CliContext, 'scanner' | 'version' | 'environment' | 'signal'>,
): Promise<LocalEnd> {
  const url = URL.parse(scan.url);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) throw new CliError(`${scan.url} is not an http or https URL.`);
  if (!existsSync(context.scanner))
    throw new CliError(
      '--local needs the scanner, which is not installed beside this command line.',
      'Use the npm package curbcut with Chromium on this machine, or the scanner image, which has Chromium.',
    );
  const { auth, baseline, knownIssues, metadata, hostAllowed = true, ...rest } = scan;
  const hosts = hostAllowed ? [url.host, ...(rest.crawl?.hosts ?? [])].map(hostnameOf) : [];
  const startedAt = new Date();
  const known = knownIssues && (await readKnownIssues(knownIssues, siteOf(url.href), startedAt));
  const { file, ...how } = baseline ?? { file: undefined, optional: false };
  const before = file === undefined ? undefined : await readExportFile(file);
  const options = withDefaults({ ...rest, url: url.href });
  const deadline = new Date(startedAt.getTime() + DEADLINE_MS).toISOString();
  const scanId = randomUUID();
  let scanned = 0;
  progress.step({ phase: 'crawling', pages: null });
  const end = await runScanner(
    {
      version: context.version,
      scanId,
      submittedAt: startedAt.toISOString(),
      options,
      ...(metadata !== undefined && { metadata }),
      ...(known && { knownIssues: known }),
      pagesReserved: options.maxPages,
      deadline,
      uploadDeadline: deadline,
      allowTargets: [...OWN_MACHINE, ...hosts, ...listOf(context.environment.ALLOW_TARGETS)],
      denyTargets: [],
      workers: SCANNER_DEFAULTS.workers,
      exportMaxBytes: EXPORT_MAX_BYTES,
      ...(baseline && before && { baseline: { ...how, scanId: before.scanId } }),
      // Without keys the scan fails, instead of scanning without a sign-in.
      ...(auth !== undefined && { signIn: {} }),
    },
    {
      scanner: context.scanner,
      baseline: before?.bytes ?? null,
      environment: { ...context.environment, ...(auth !== undefined && { SCAN_AUTH: resolve(auth) }) },
      signal: context.signal,
      onPage({ url: page, tested, detail }) {
        if (tested) scanned += 1;
        else progress.note(`${page} was not tested: ${detail ?? 'no reason was given'}`);
        progress.step({ phase: 'scanning', pages: { scanned, total: options.maxPages } });
      },
    },
  );
  if (!end.ok && end.reason === 'crashed')
    throw new CliError(end.message, 'Chromium is searched in PATH; CHROMIUM_PATH names another executable, such as that of Google Chrome.');
  const described = { scanId, url: url.href, metadata: metadata ?? {}, reportUrl: null };
  if (!end.ok) {
    const failed = { ...described, status: 'failed', outcome: null, passed: judgeWithoutResult(scan.thresholds), message: end.message };
    return { result: resultOf(failed), done: null };
  }
  const report = JSON.parse(end.results.export.toString()) as Report;
  // Nobody can look it up: no service knows the scan.
  report.scan.local = true;
  const files = { ...end.results, export: Buffer.from(JSON.stringify(report)) };
  if (report.consent !== undefined) progress.note(consentSentence(report.consent, 'en'));
  for (const { message } of discoveryNotes(report.discovery)) progress.note(message);
  return {
    result: resultOf({ ...described, status: 'done', outcome: outcomeOf(report), ...report.scan.verdict }),
    done: { report, files },
  };
}

/** @throws CliError if a file cannot be written */
async function save({ pdf, export: exported, ...formats }: Files, results: ScannerResults, report: Report): Promise<void> {
  const { formatReport } = await import('../../report/formats/formats.ts');
  const made = Object.entries(formats).map(([name, file]) => [file, formatReport(name as ReportFormat, report, results.pictures)] as const);
  for (const [file, content] of [[pdf, results.pdf] as const, [exported, results.export] as const, ...made]) {
    if (file === undefined) continue;
    try {
      await writeReport(file, content);
    } catch (error) {
      throw new CliError(`The report could not be saved to ${file}: ${errorMessage(error)}.`);
    }
  }
}

/** Chooses from the manifests as the service does. @param host of the scan @throws CliError if there are none for the site */
async function readKnownIssues({ file, site }: { file: string; site?: string }, host: string, now: Date): Promise<ChosenKnownIssues> {
  // The parser is loaded only for it.
  const { issuesOf, readManifestFile } = await import('./issues-manifest.ts');
  const { manifests } = await readManifestFile(file, now);
  const wanted = site === undefined ? host : siteFrom('scan', 'known-issues-site', site);
  const sites = [...new Set(manifests.map((manifest) => manifest.site))];
  if (!sites.includes(wanted))
    throw new CliError(
      `${file} has no known issues for ${wanted}, but for ${sites.join(', ')}.`,
      'To use those of another host, for example for a site on this machine: --known-issues-site HOST',
    );
  return chooseKnownIssues(issuesOf(manifests, wanted), now);
}

/** Reads the JSON export of a scan. @throws CliError */
async function readExportFile(file: string): Promise<{ scanId: string; bytes: Buffer }> {
  try {
    const bytes = await readFile(file);
    const { scan } = JSON.parse(bytes.toString()) as Partial<Report>;
    if (typeof scan?.id !== 'string') throw new Error('it is not the JSON export of a scan');
    return { scanId: scan.id, bytes };
  } catch (error) {
    throw new CliError(
      `The baseline ${file} cannot be read: ${errorMessage(error)}.`,
      'Save one with --export, for example of the main branch.',
    );
  }
}

/** The host of a rule that allows targets. A domain with all names below is none, so they must be public. */
const hostnameOf = (host: string): string => host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');

const listOf = (text: string | undefined): string[] => (text ?? '').split(',').flatMap((entry) => entry.trim() || []);
