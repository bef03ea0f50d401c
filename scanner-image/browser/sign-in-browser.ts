/**
 * Signs in by the steps of a scan, in a browser of its own that Playwright drives: it waits until elements can be used as by a
 * person. The tabs that test pages start with the state that the steps lead to. They are not driven by Playwright, because its
 * record of every request and frame costs a sixth of the time of a scan.
 */
import { withTimeLimit } from '../../platform/time-limits.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Cdp } from './cdp.ts';
import { planLaunch, withOrWithoutSandbox, type Machine } from './chromium.ts';
import { createConditionVariable } from './condition-variable.ts';
import { introduce } from './identity.ts';
import { watchMainFrame } from './main-frame.ts';
import { runSteps, type SignedIn, type SignInRequest } from './sign-in-steps.ts';
import { CLOSE_MS, START_MS } from './process.ts';
import { prepareTab, type TabDeps } from './tab.ts';
import { VIEWPORT } from './target.ts';
import { watchTraffic } from './traffic.ts';

/** What starting a browser and opening its tabs takes. */
export interface BrowserDeps {
  machine: Machine;
  /** The address of the egress proxy. */
  proxy: string;
  log: Logger;
  /** The languages that sites are asked for, most wanted first. */
  languages: readonly string[];
  /** Returns the dependencies of a tab, for a browser of this version. */
  tab: (version: string) => TabDeps;
}

/**
 * Runs the steps of a sign-in and returns the state that they lead to.
 * @param signal closes the browser, so that the steps fail
 * @throws Error if the browser does not start
 */
export async function signInBySteps(deps: BrowserDeps, request: SignInRequest, signal: AbortSignal): Promise<SignedIn> {
  const { machine, proxy, log, languages } = deps;
  // Loaded only when it is needed: it takes a fifth of a second.
  const { chromium } = await import('playwright-core');
  const { executable, args, env } = planLaunch(machine, proxy, languages);
  const browser = await withOrWithoutSandbox(machine, log, (flags) =>
    chromium.launch({
      executablePath: executable,
      chromiumSandbox: flags.length === 0,
      args,
      ignoreDefaultArgs: ['--disable-popup-blocking', '--disable-dev-shm-usage'].filter((flag) => !args.includes(flag)),
      env,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: Math.max(1, Math.min(START_MS, request.budgetMs)),
    }),
  );
  const close = (): void => void browser.close().catch(() => undefined);
  signal.addEventListener('abort', close);
  try {
    signal.throwIfAborted();
    const tab = deps.tab(browser.version());
    const context = await browser.newContext({
      userAgent: tab.identity.userAgent,
      reducedMotion: 'reduce',
      serviceWorkers: 'block',
      acceptDownloads: false,
      viewport: VIEWPORT,
    });
    const page = await context.newPage();
    // Its commands and events are those of our own sessions.
    const cdp = (await context.newCDPSession(page)) as unknown as Cdp;
    context.on('page', (other) => {
      if (other !== page) void other.close().catch(() => undefined);
    });
    const changes = createConditionVariable();
    const frame = await watchMainFrame(cdp, changes, (listener) => {
      page.on('crash', () => listener('The page crashed its tab.'));
      page.on('close', () => listener('The tab was closed.'));
    });
    const { egressFailureOf, basic: signIn, headers, settling } = tab;
    const traffic = await watchTraffic(cdp, frame.id, { changes, egressFailureOf, hosts: settling.hosts, signIn, headers });
    await Promise.all([prepareTab(cdp, tab), introduce(cdp, tab.identity)]);
    return await runSteps({ page, cdp, frame, traffic }, request);
  } finally {
    signal.removeEventListener('abort', close);
    await withTimeLimit(browser.close(), CLOSE_MS, 'closing the browser of the sign-in').catch((error: unknown) =>
      log.warn({ err: error }, 'the browser of the sign-in was not closed'),
    );
  }
}
