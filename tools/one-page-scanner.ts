/** The scanner as a scan starts it, for tools that visit single pages: egress proxy, browser, tabs, and axe-core in its isolated world. */
import { pino } from 'pino';
import type { WcagLevel, WcagVersion } from '../core/scan/options.ts';
import { axeOptions, axeSource, htmlTotal, watchSource } from '../scanner-image/page/scripts/source.ts';
import type { Machine } from '../scanner-image/page/browser/chromium.ts';
import { identityOf, languagesOf } from '../scanner-image/page/browser/target.ts';
import { createPool } from '../scanner-image/page/browser/pool.ts';
import { REST_MS } from '../scanner-image/page/visit/looks.ts';
import type { Visit, VisitRequest } from '../scanner-image/page/visit/visit.ts';
import { EVERY_WAIT } from '../scanner-image/crawl/wait-history.ts';
import { openEgress } from '../scanner-image/egress/proxy.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';

/** The time limit of a visit, in milliseconds. */
export const BUDGET_MS = 60_000;

/** The machine that this process runs on. */
export const thisMachine = (): Machine => ({
  chromiumPath: process.env.CHROMIUM_PATH,
  path: process.env.PATH ?? '',
  home: process.env.HOME,
  root: process.getuid?.() === 0,
});

export interface OnePageScanner {
  /** Visits a page with every wait, as the first page of a template is visited. @param options.worker each one has a tab of its own */
  visit(url: URL, options?: { worker?: number } & Pick<VisitRequest, 'mayBeEmpty'>): Promise<Visit>;
  browserVersion(): Promise<string>;
  close(): Promise<void>;
}

/** Loopback is allowed, and what `ALLOW_TARGETS` names. */
export async function openOnePageScanner(target: { level: WcagLevel; version: WcagVersion }): Promise<OnePageScanner> {
  const log = pino({ level: 'silent' });
  const allow = ['127.0.0.0/8', '::1', 'localhost', ...(process.env.ALLOW_TARGETS ?? '').split(',').filter((entry) => entry !== '')];
  const egress = await openEgress({ rules: { allow, deny: [] }, log });
  const [source, watch] = [await axeSource('en'), await watchSource()];
  const pool = createPool({
    machine: thisMachine(),
    proxy: egress.url,
    log,
    languages: languagesOf('en'),
    tab: (version) => ({
      source,
      watch,
      settling: { waitFor: '', settleMs: 0, restMs: REST_MS },
      hasRoutes: false,
      options: axeOptions({ wcagLevel: target.level, wcagVersion: target.version, advice: false }),
      htmlTotal: htmlTotal(1),
      identity: identityOf(version, CURBCUT_VERSION, 'en'),
      pictures: null,
      egressFailureOf: (url) => egress.failureOf(url),
    }),
  });
  return {
    visit: (url, { worker = 0, ...options } = {}) =>
      pool.visit(worker, {
        url,
        test: true,
        mayGoTo: () => null,
        plan: EVERY_WAIT,
        budgetMs: BUDGET_MS,
        largeBudgetMs: BUDGET_MS,
        ...options,
      }),
    browserVersion: () => pool.version(),
    close: () => pool.close().then(() => egress.close()),
  };
}
