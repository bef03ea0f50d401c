/** One scan, from its options to its pages: opens the egress proxy, the browser and the site, and crawls. */
import type { PodInput, Team } from '../core/protocol/pod-messages.ts';
import type { ReportPage } from '../report/schema/page.ts';
import type { Report, ReportConsent, ReportDiscovery } from '../report/schema/report.ts';
import { statesOf } from '../core/scan/states.ts';
import type { Resolver } from '../core/scan/targets.ts';
import { AXE_VERSION, axeOptions, axeSource, htmlTotal, watchSource } from './page/scripts/source.ts';
import { type Machine, openSiteTrust } from './page/browser/chromium.ts';
import { agentName, identityOf, languagesOf } from './page/browser/target.ts';
import { createPool, type Pool } from './page/browser/pool.ts';
import type { TabDeps } from './page/browser/tab.ts';
import { openSite } from './crawl/site.ts';
import { startOf } from './crawl/robots.ts';
import { crawl, type ScanControl } from './crawl/crawl.ts';
import { createGuardedFetch } from './egress/fetch.ts';
import type { EgressLimits } from './egress/target-guard.ts';
import { kindOf } from './egress/egress-failures.ts';
import { openEgress, type Egress } from './egress/proxy.ts';
import { ScanFailed } from './pod/failure.ts';
import { REST_MS } from './page/visit/looks.ts';
import { createPictureBudget, type KeptPicture, type PictureBudget, type PictureLimits } from './page/visit/pictures.ts';
import { isPrepared } from './page/session/renewable-state.ts';
import { createSession } from './page/session/session.ts';
import { createRedactor, redactingLogger, type Redactor } from './pod/redact.ts';
import type { SignIn } from './page/session/sign-in.ts';
import { help } from './team/helper.ts';
import { leadTeam } from './team/lead.ts';
import { siteAuthorities } from '../platform/authorities.ts';
import { anyOf, untilAborted } from '../platform/time-limits.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';

/** What to scan, and its limits. */
export type ScanInput = Pick<
  PodInput,
  | 'options'
  | 'pagesReserved'
  | 'deadline'
  | 'allowTargets'
  | 'denyTargets'
  | 'workers'
  | 'pageBudgetMs'
  | 'exportMaxBytes'
  | 'contactUrl'
  | 'siteCa'
  | 'proxy'
  | 'team'
>;

interface VisitingDeps extends Pick<ScanControl, 'log' | 'signal'> {
  machine: Machine;
  /** The time between two looks at a page, in milliseconds. Default: `REST_MS` of `page/visit/looks.ts` */
  restMs?: number;
  /** Default: `createResolver` of the platform. */
  resolver?: Resolver;
  egressLimits?: Partial<EgressLimits>;
  pictureLimits?: Partial<PictureLimits>;
}

export interface ScanDeps extends ScanControl, VisitingDeps {
  signIn?: SignIn | null;
  /** The time limit of one step of the sign-in, in milliseconds. */
  stepMs?: number;
  /** Called while the browser starts and the process has nothing to do. */
  onBrowserStarting?: () => void;
}

export interface ScanOutput {
  /** In the scan's order, tested and untested; at least one was tested. */
  pages: ReportPage[];
  /** Whether `stop` ended the scan before all pages were tested. */
  partial: boolean;
  /** The number of addresses that were found and are not in `pages`. */
  addressesLeft: number;
  discovery: ReportDiscovery;
  /** What was answered to the dialog; undefined if the scan answers none. */
  consent: ReportConsent | undefined;
  /** By fingerprint; empty if the scan takes none. */
  pictures: ReadonlyMap<string, KeptPicture>;
  /** Of whole pages, by the `url` of the page. */
  pagePictures: ReadonlyMap<string, KeptPicture>;
  /** The number of pictures that there was no time for. */
  picturesLeft: number;
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

/** What visiting pages takes, in each pod of a scan. */
async function openVisiting(input: ScanInput, deps: VisitingDeps, { signIn, redactor }: { signIn: SignIn | null; redactor: Redactor }) {
  const { options } = input;
  const { log, machine } = deps;
  const egress = await openEgress({
    rules: { allow: input.allowTargets, deny: input.denyTargets },
    proxy: input.proxy,
    log,
    resolver: deps.resolver,
    limits: deps.egressLimits,
  });
  const files = createGuardedFetch(egress, agentName(CURBCUT_VERSION, input.contactUrl), deps.signal, siteAuthorities(input.siteCa));
  const trust = await openSiteTrust(input.siteCa, machine).catch(async (error: unknown) => {
    await Promise.all([files.close(), egress.close()]);
    throw error;
  });
  const pictures = options.pictures ? createPictureBudget(deps.pictureLimits, redactor.values) : null;
  const hasSession = signIn !== null || isPrepared(options.crawl);
  const tab = await tabOf(input, { egress, pictures, hasSession, signIn, redactor, restMs: deps.restMs ?? REST_MS });
  const pool = createPool({ machine: trust.machine, proxy: egress.url, log, languages: languagesOf(options.locale), tab });
  const close = async (): Promise<void> => {
    try {
      await Promise.all([pool.close(), files.close()]);
      await Promise.all([egress.close(), trust.close()]);
    } catch (error) {
      log.warn({ err: error }, 'closing the browser or the egress proxy failed');
    }
  };
  return { egress, files, pictures, hasSession, pool, close };
}

/** Visits pages for pod 0 of a scan, until that ends the scan. @throws the reason of the signal */
export async function helpScan(input: ScanInput, team: Team, deps: VisitingDeps & { signal: AbortSignal }): Promise<void> {
  const { pool, pictures, close } = await openVisiting(input, deps, { signIn: null, redactor: createRedactor() });
  try {
    await help({ team, options: input.options, workers: input.workers, pool, pictures, log: deps.log, signal: deps.signal });
  } finally {
    await close();
  }
}

async function scanWith(input: ScanInput, deps: ScanDeps, redactor: Redactor): Promise<ScanOutput> {
  const { options } = input;
  const { log, signIn = null, signal } = deps;
  const startedAt = new Date();
  const deadline = new Date(input.deadline).getTime();
  const softDeadline = deadline - Math.min(RESERVE_MS, (deadline - startedAt.getTime()) / 10);
  const { egress, files, pictures, hasSession, pool, close } = await openVisiting(input, deps, { signIn, redactor });
  const team = input.team === undefined ? undefined : leadTeam(input.team, log);
  try {
    // Before the crawl nothing is tested, so that a stop ends the scan too.
    const halt = anyOf(signal, deps.stop);
    await untilAborted(refuseForbiddenTarget(egress, new URL(options.url)), halt);
    // A sign-in belongs to the origin of the URL: at another one, the scan would not be signed in.
    const hasRoutes = options.crawl.hashRoutes === 'all';
    const httpFallback = options.httpFallback && signIn === null;
    const start = await untilAborted(startOf({ ...options, httpFallback, hasRoutes }, { files, signal: halt }), halt);
    const browser = pool.version();
    browser.catch(() => undefined); // the first page tries again, and reports that the browser does not start
    // Meanwhile robots.txt is fetched.
    pool.prepare(0);
    if (deps.onBrowserStarting !== undefined) setTimeout(deps.onBrowserStarting, SPAWNED_MS);
    const session = hasSession
      ? createSession(pool, { signIn, rules: options.crawl, start, redactor, log, stepMs: deps.stepMs, softDeadline })
      : null;
    if (session !== null) await untilAborted(session.open(), halt);
    const opening = openSite(input, { start, signedIn: signIn !== null, session, files, softDeadline, signal });
    const site = await untilAborted(opening, halt);
    const visit: Pool['visit'] = (worker, request) => (session !== null && site.isOwn(request.url) ? session : pool).visit(worker, request);
    const visitor = { ...pool, visit };
    const crawled = await crawl({ input, site, pool: visitor, team, pictures, states: statesOf(options), softDeadline }, deps);
    // The other pods end now, and not after the report.
    await team?.close();
    const { pages, redirectTargets, addressesLeft, discovery, stopped } = crawled;
    // With the tokens that were learned later, as the addresses of the pages.
    const urlOf = ({ pageUrl }: KeptPicture): string => redactor.url(redirectTargets.get(pageUrl) ?? pageUrl);
    return {
      pages: pages.map(redactor.deep),
      partial: stopped,
      addressesLeft,
      discovery: redactor.deep(discovery),
      consent: redactor.deep(session?.consent()),
      pictures: new Map([...(pictures?.all() ?? [])].map(([cause, picture]) => [cause, { ...picture, pageUrl: urlOf(picture) }])),
      picturesLeft: pictures?.missing() ?? 0,
      pagePictures: new Map([...(pictures?.pages().values() ?? [])].map((picture) => [urlOf(picture), picture])),
      tools: { curbcut: CURBCUT_VERSION, axe_core: AXE_VERSION, browser: `Chromium ${await browser.catch(() => pool.version())}` },
      startedAt,
      finishedAt: new Date(),
      closed: close(),
    };
  } catch (error) {
    // After any other failure the Job starts another pod 0.
    const isOver = error instanceof ScanFailed || deps.stop?.aborted === true;
    await Promise.all([close(), team?.close(isOver)]);
    throw error;
  }
}

async function refuseForbiddenTarget(egress: Egress, target: URL): Promise<void> {
  const judged = await egress.judge(target);
  if (judged.ok) return;
  throw new ScanFailed(kindOf(judged.reason) === 'unresolvable' ? 'target_unreachable' : 'target_refused', judged.message);
}

/** Returns the function that says how tabs of a browser are opened. */
async function tabOf(
  { options, pagesReserved, contactUrl }: ScanInput,
  scan: { egress: Egress; pictures: PictureBudget | null; hasSession: boolean; signIn: SignIn | null; redactor: Redactor; restMs: number },
): Promise<(browserVersion: string) => TabDeps> {
  const { egress, pictures, hasSession, signIn, redactor, restMs } = scan;
  const [source, watch] = await Promise.all([axeSource(options.locale, { hasSession }), watchSource()]);
  const { waitFor, settleMs, hashRoutes } = options.crawl;
  return (version) => ({
    source,
    watch,
    settling: { waitFor, settleMs, restMs },
    hasRoutes: hashRoutes === 'all',
    options: axeOptions(options),
    htmlTotal: htmlTotal(pagesReserved),
    identity: identityOf(version, CURBCUT_VERSION, options.locale, contactUrl),
    egressFailureOf: egress.failureOf,
    pictures,
    states: { ...statesOf(options), locale: options.locale },
    ...(signIn !== null && { basic: signIn.basic, headers: signIn.headers, redact: redactor.deep }),
  });
}
