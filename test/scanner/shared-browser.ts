/** One Chromium for the scans of a test process: a start costs more than the scan of a small page. Each scan gets contexts of its own. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { chromium, type Browser, type BrowserContext } from 'playwright-core';
import { withTimeLimit } from '../../platform/time-limits.ts';

type LaunchOptions = NonNullable<Parameters<typeof chromium.launch>[0]>;

const sharing = new AsyncLocalStorage<true>();
/** By what the browsers were started with, without the proxy, which contexts have too. */
const running = new Map<string, Promise<Browser>>();
const launch = chromium.launch.bind(chromium);
const PROXY = '--proxy-server=';
const CLOSE_MS = 3000;

/** Runs a scan whose browser is a running one with the same options, if there is one. */
export const inSharedBrowser = <T>(scan: () => Promise<T>): Promise<T> => sharing.run(true, scan);

chromium.launch = async (options: LaunchOptions = {}) => {
  const proxy = options.args?.find((arg) => arg.startsWith(PROXY))?.slice(PROXY.length);
  if (sharing.getStore() === undefined || proxy === undefined) return launch(options);
  const started = { ...options, args: options.args?.filter((arg) => !arg.startsWith(PROXY)) };
  const key = JSON.stringify([started.executablePath, started.args, started.env]);
  const browser = (running.get(key) ?? Promise.resolve(null)).then((known) => (known?.isConnected() === true ? known : launch(started)));
  running.set(key, browser);
  return viewOf(await browser, proxy);
};

/** The browser as one scan sees it: closing it closes the contexts of the scan. */
function viewOf(browser: Browser, server: string): Browser {
  const contexts: BrowserContext[] = [];
  let closed = false;
  const own: Partial<Browser> = {
    isConnected: () => !closed && browser.isConnected(),
    async newContext(options) {
      const context = await browser.newContext({ ...options, proxy: { server } });
      contexts.push(context);
      return context;
    },
    async close() {
      if (closed) return;
      closed = true;
      const closing = Promise.all(contexts.map((context) => context.close()));
      // A page that hangs may keep its context.
      await withTimeLimit(closing, CLOSE_MS, 'closing contexts').catch(() => browser.close());
    },
  };
  return new Proxy(browser, {
    get(target, name) {
      const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name);
      return typeof value === 'function' && !(name in own) ? value.bind(target) : value;
    },
  });
}
