/**
 * Runs the real app with the real stores on the embedded stack, and opens its pages in a real browser. Every page records
 * violations of its policy and errors of its scripts; `expectAccessible` and `close` fail if there are any.
 */
import { AssertionError } from 'chai';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { startContext, type ApiContext } from '../api/context.ts';
import type { ReplicaOptions } from '../api/replica.ts';
import { opened } from '../support/opened.ts';
import { sharedBrowser } from './browser.ts';
import { recordProblems } from './problems.ts';

export interface WebOptions extends ReplicaOptions {
  /** The size of the window. Default: 1280 × 900. */
  viewport?: { width: number; height: number };
}

/** Options of one visitor. */
export type VisitorOptions = Pick<
  BrowserContextOptions,
  'javaScriptEnabled' | 'colorScheme' | 'locale' | 'forcedColors' | 'reducedMotion' | 'permissions' | 'timezoneId'
>;

export interface Web extends ApiContext {
  /** Opens a page as a new visitor without cookies. */
  open(path: string, options?: VisitorOptions): Promise<Page>;
  /** Starts a visitor whose pages share cookies. */
  visitor(options?: VisitorOptions): Promise<BrowserContext>;
}

/** The size of the window in which pages open. */
export const DESKTOP = { width: 1280, height: 900 };

export async function openWeb(options: WebOptions = {}): Promise<Web> {
  // Plain HTTP on loopback, so that cookies need no HTTPS; and the time of a busy machine.
  const started = await startContext({ publicBaseUrl: 'http://127.0.0.1', dependencyTimeoutMs: 60_000, ...options });
  // Where the address matters, pages are opened at the public one.
  const context = options.port === undefined ? started : { ...started, url: options.publicBaseUrl! };
  const visitors: BrowserContext[] = [];
  const problems: string[] = [];

  async function visitor(more: VisitorOptions = {}): Promise<BrowserContext> {
    const browser = await sharedBrowser();
    const one = await browser.newContext({ baseURL: context.url, viewport: options.viewport ?? DESKTOP, ...more });
    one.setDefaultTimeout(60_000);
    await recordProblems(one, problems);
    visitors.push(one);
    return one;
  }

  return {
    ...context,
    visitor,
    async open(path, more) {
      const page = await (await visitor(more)).newPage();
      await page.goto(path);
      return page;
    },
    async close() {
      await Promise.all(visitors.map((one) => one.close()));
      await context.close();
      if (problems.length > 0) throw new AssertionError(`pages had errors:\n${problems.join('\n')}`);
    },
  };
}

/** Pages for the tests of a suite. Faults end with each test. */
export function useWeb(options?: WebOptions): Web {
  const web = opened(() => openWeb(options));
  afterEach(() => web.faults?.clear());
  return web;
}
