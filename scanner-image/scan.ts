/** One scan, from its options to its pages: opens the egress proxy and the browser, walks the site, tests each page once. */
import type { Logger } from '../platform/logger.ts';
import type { PodInput } from '../core/protocol/pod-messages.ts';
import { createFindingsBudget } from '../report/results/cap-nodes.ts';
import type { ReportConsent } from '../report/results/consent.ts';
import type { Report, ReportPage } from '../report/schema/schema.ts';
import type { Resolver } from '../core/scan/targets.ts';
import type { PageProgress } from '../core/scan/counts.ts';
import { AXE_VERSION, axeOptions, axeSource, htmlTotal, watchSource } from './page/scripts/source.ts';
import { type Machine, openSiteTrust } from './page/browser/chromium.ts';
import { agentName, identityOf, languagesOf } from './page/browser/target.ts';
import { createPool, type Pool } from './page/browser/pool.ts';
import type { TabDeps } from './page/browser/tab.ts';
import { openSite } from './crawl/site.ts';
import { startOf } from './crawl/robots.ts';
import { walkSite, type Walked } from './crawl/walk.ts';
import { createGuardedFetch, type GuardedFetch } from './egress/fetch.ts';
import type { EgressLimits } from './egress/target-guard.ts';
import { kindOf } from './egress/egress-failures.ts';
import { openEgress, type Egress } from './egress/proxy.ts';
import { ScanFailed } from './pod/failure.ts';
import { createPictureBudget, type KeptPicture, type PictureBudget, type PictureLimits } from './page/visit/pictures.ts';
import { isPrepared } from './page/session/renewable-state.ts';
import { createSession } from './page/session/session.ts';
import { createRedactor, redactingLogger, type Redactor } from './pod/redact.ts';
import type { SignIn } from './page/session/sign-in.ts';
import { siteAuthorities } from '../platform/authorities.ts';
import { anyOf, untilAborted } from '../platform/time-limits.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';

/** What to scan, and its limits. */
export type ScanInput = Pick<
  PodInput,
  | 'options'
  | 'deadline'
  | 'allowTargets'
  | 'denyTargets'
  | 'workers'
  | 'pageBudgetMs'
  | 'exportMaxBytes'
  | 'contactUrl'
  | 'siteCa'
  | 'proxy'
>;

export type Traced = <T>(step: string, work: () => Promise<T>) => Promise<T>;
export const UNTRACED: Traced = (_step, work) => work();

export interface ScanDeps {
  machine: Machine;
  log: Logger;
  signIn?: SignIn | null;
  /** The time limit of one step of the sign-in, in milliseconds. */
  stepMs?: number;
  /** Called after every change. The phase never moves backwards. */
  onProgress?: (phase: 'crawling' | 'scanning', pages: PageProgress) => void;
  /** Called with each page in the scan's order. */
  onPage?: (page: ReportPage) => void;
  /** Called while the browser starts and the process has nothing to do. */
  onBrowserStarting?: () => void;
  /** Runs a step in a span of its name. */
  traced?: Traced;
  /** Aborts the scan immediately; `runScan` then throws the signal's reason. */
  signal?: AbortSignal;
  /** Ends the scan with the pages that were tested until then; `runScan` throws the signal's reason if there are none. */
  stop?: AbortSignal;
  /** Default: `createResolver` of the platform. */
  resolver?: Resolver;
  egressLimits?: Partial<EgressLimits>;
  pictureLimits?: Partial<PictureLimits>;
}

export interface ScanOutput {
  /** In the scan's order, tested and untested; at least one was tested. */
  pages: ReportPage[];
  /** Whether `stop` ended the scan before all pages were tested. */
  partial: boolean;
  /** The number of addresses that were found and are not in `pages`. */
  addressesLeft: number;
  /** What was answered to the dialog; undefined if the scan answers none. */
  consent: ReportConsent | undefined;
  /** By fingerprint; empty if the scan takes none. */
  pictures: ReadonlyMap<string, KeptPicture>;
  /** Of whole pages, by the `url` of the page. */
  pagePictures: ReadonlyMap<string, KeptPicture>;
  tools: Report['tools'];
  startedAt: Date;
  finishedAt: Date;
  /** Resolves when the browser has exited and the egress proxy is closed, so that the caller can use the result meanwhile. Never rejects. */
  closed: Promise<void>;
}

/** The maximum time reserved for reports and uploads, in milliseconds. A short scan reserves a tenth of its time. */
const RESERVE_MS = 60_000;

/** When the browser's process exists, which Playwright does not report. It takes 100 ms more until it answers. */
const SPAWNED_MS = 50;

/** The share of the export that the findings of pages may use. The rest is for root causes and addresses. */
const FINDINGS_SHARE = 1 / 2;

/**
 * Runs a scan. Secrets of its sign-in are masked in pages, errors and log lines.
 * @throws ScanFailed if it can never succeed; any other error may be transient
 */
export async function runScan(input: ScanInput, deps: ScanDeps): Promise<ScanOutput> {
  const { signIn = null, log } = deps;
  if (signIn === null) return scanWith(input, deps, createRedactor());
  const redactor = createRedactor(signIn.secrets);
  try {
    return await scanWith(input, { ...deps, log: redactingLogger(log, redactor) }, redactor);
  } catch (error) {
    throw error instanceof ScanFailed ? new ScanFailed(error.reason, redactor.text(error.message), error.pages) : redactor.deep(error);
  }
}

async function scanWith(input: ScanInput, deps: ScanDeps, redactor: Redactor): Promise<ScanOutput> {
  const { options } = input;
  const { log } = deps;
  const startedAt = new Date();
  // Before the walk, nothing is tested.
  const halt = anyOf(deps.signal, deps.stop);

  const egress = await openEgress({
    rules: { allow: input.allowTargets, deny: input.denyTargets },
    proxy: input.proxy,
    log,
    resolver: deps.resolver,
    limits: deps.egressLimits,
  });
  const files = createGuardedFetch(egress, agentName(CURBCUT_VERSION, input.contactUrl), deps.signal, siteAuthorities(input.siteCa));
  const pictures = options.pictures ? createPictureBudget(deps.pictureLimits, redactor.values) : null;
  const trust = await openSiteTrust(input.siteCa, deps.machine).catch(async (error: unknown) => {
    await Promise.all([files.close(), egress.close()]);
    throw error;
  });
  const pool = await poolOf(input, { ...deps, machine: trust.machine }, { egress, pictures, redactor });
  const close = async (): Promise<void> => {
    try {
      await Promise.all([pool.close(), files.close()]);
      await Promise.all([egress.close(), trust.close()]);
    } catch (error) {
      log.warn({ err: error }, 'closing the browser or the egress proxy failed');
    }
  };
  try {
    await untilAborted(refuseForbiddenTarget(egress, new URL(options.url)), halt);
    // A sign-in belongs to the origin of the URL: at another one, the scan would not be signed in.
    const httpFallback = options.httpFallback && (deps.signIn ?? null) === null;
    const start = await untilAborted(startOf({ ...options, httpFallback }, { files, signal: halt }), halt);
    const browser = pool.version();
    browser.catch(() => undefined); // the first page tries again, and reports that the browser does not start
    // Meanwhile robots.txt is fetched.
    pool.prepare(0);
    if (deps.onBrowserStarting !== undefined) setTimeout(deps.onBrowserStarting, SPAWNED_MS);
    const { pages, stopped, addressesLeft, gates, consent } = await untilAborted(
      walk(input, deps, { start, startedAt, files, pool, pictures, redactor }),
      deps.signal,
    );
    // With the tokens that were learned later, as the addresses of the pages.
    const urlOf = ({ pageUrl }: KeptPicture): string => redactor.url(gates.get(pageUrl) ?? pageUrl);
    return {
      pages,
      partial: stopped,
      addressesLeft,
      consent,
      pictures: new Map([...(pictures?.all() ?? [])].map(([cause, picture]) => [cause, { ...picture, pageUrl: urlOf(picture) }])),
      pagePictures: new Map([...(pictures?.pages().values() ?? [])].map((picture) => [urlOf(picture), picture])),
      tools: { curbcut: CURBCUT_VERSION, axe_core: AXE_VERSION, browser: `Chromium ${await browser.catch(() => pool.version())}` },
      startedAt,
      finishedAt: new Date(),
      closed: close(),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function poolOf(
  { options, contactUrl }: ScanInput,
  { machine, log, signIn = null }: ScanDeps,
  { egress, pictures, redactor }: { egress: Egress; pictures: PictureBudget | null; redactor: Redactor },
): Promise<Pool> {
  const source = await axeSource(options.locale, { hasSession: signIn !== null || isPrepared(options.crawl) });
  const watch = await watchSource();
  const { waitFor, settleMs } = options.crawl;
  return createPool({
    machine,
    proxy: egress.url,
    log,
    languages: languagesOf(options.locale),
    tab: (version): TabDeps => ({
      source,
      watch,
      settling: { waitFor, settleMs },
      options: axeOptions(options),
      htmlTotal: htmlTotal(options.maxPages),
      identity: identityOf(version, CURBCUT_VERSION, options.locale, contactUrl),
      egressFailureOf: egress.failureOf,
      pictures,
      ...(signIn !== null && { basic: signIn.basic, headers: signIn.headers, redact: redactor.deep }),
    }),
  });
}

async function refuseForbiddenTarget(egress: Egress, target: URL): Promise<void> {
  const judged = await egress.judge(target);
  if (judged.ok) return;
  throw new ScanFailed(kindOf(judged.reason) === 'unresolvable' ? 'target_unreachable' : 'target_refused', judged.message);
}

async function walk(
  input: ScanInput,
  deps: ScanDeps,
  scan: { start: URL; startedAt: Date; files: GuardedFetch; pool: Pool; pictures: PictureBudget | null; redactor: Redactor },
): Promise<Walked & Pick<ScanOutput, 'consent'>> {
  const { start, startedAt, files, pool, pictures, redactor } = scan;
  const { crawl, maxPages } = input.options;
  const { signIn = null, traced = UNTRACED } = deps;
  const deadline = new Date(input.deadline).getTime();
  const softDeadline = deadline - Math.min(RESERVE_MS, (deadline - startedAt.getTime()) / 10);
  const signedIn = signIn !== null;
  const session =
    signedIn || isPrepared(crawl)
      ? createSession(pool, { signIn, rules: crawl, start, redactor, log: deps.log, stepMs: deps.stepMs, softDeadline })
      : null;
  const halt = anyOf(deps.signal, deps.stop);
  if (session !== null) await untilAborted(session.open(), halt);
  const headersFor = (url: URL): Record<string, string> => session?.headersFor(url) ?? {};
  const onAllowed = (): Promise<void> | undefined => session?.prepare();
  const opening = openSite({ start, crawl, maxPages, signedIn, headersFor, onAllowed, files, softDeadline, signal: deps.signal });
  const site = await untilAborted(opening, halt);
  const walked = await walkSite({
    start,
    site,
    pool: session === null ? pool : { ...pool, visit: session.visit },
    maxPages,
    workers: input.workers,
    pageBudgetMs: input.pageBudgetMs,
    onOutcome(candidate, visit, outcome) {
      if (visit.loaded && outcome === 'tested') pictures?.keep(redactor.url(candidate.url.href), visit.pictures);
      else if (visit.loaded) pictures?.release(visit.pictures);
    },
    budget: createFindingsBudget(input.exportMaxBytes * FINDINGS_SHARE, maxPages),
    signedIn,
    softDeadline,
    signal: deps.signal,
    stop: deps.stop,
    onProgress: (phase, pages) => deps.onProgress?.(phase, pages),
    onPage: (page) => deps.onPage?.(redactor.deep(page)),
    traced,
  });
  const gates = new Map([...walked.gates].map(([tested, gate]) => [redactor.url(tested), gate]));
  return { ...walked, gates, pages: walked.pages.map(redactor.deep), consent: redactor.deep(session?.consent()) };
}
