/** A page of the browser in a context of its own, and the processes that its frames spread over. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { serviceWorkersSource, WORLD } from '../scripts/source.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { type Cdp, followFrames, type FrameCdp, type FrameProcess } from './cdp.ts';

export interface Target {
  page: Page;
  /** The session with the page, for what Playwright does not offer. */
  cdp: Cdp;
  /** Gives the window another size; absent: that of every test. */
  resize(size?: { width: number; height: number }): Promise<unknown>;
  /** The number of windows that the page has opened. They are closed at once. */
  windows(): number;
  /** The frames of the page in processes of their own, also those within others. */
  frameProcesses(): readonly FrameProcess[];
  /** Calls the function with the session of each new frame in a process of its own, before its document loads anything. */
  onFrame(listener: (frame: FrameCdp) => Promise<unknown>): void;
  /** What the browser knows about a frame in a process of its own; its main process answers, also if that of the frame hangs. */
  describe(frame: FrameProcess): Promise<{ url: string; parentId: string | null }>;
  /** Calls the function when the page crashed or was closed, with a sentence. */
  onLost(listener: (why: string) => void): void;
  /** Whether Playwright has given up the page, also because a frame of another site crashed. It cannot navigate any more. */
  crashed(): boolean;
  /** Closes the page, even if it is busy. */
  close(): Promise<void>;
}

/** What a page is opened with. */
export interface TargetOptions {
  identity: Identity;
  /** The scripts of every document: `source` runs in the isolated world, `watch` in the page's own, before its scripts. */
  scripts?: { source: string; watch: string };
  /** The size at which the page is painted; clicks need 1. */
  scale?: number;
}

/** The size of every page, in CSS pixels. */
const VIEWPORT = { width: 1280, height: 720 };

/** What is painted has no effect on findings, and no script and no style sheet can tell the scale. Screenshots have their own. */
const PAINT_SCALE = 0.1;

/** What Playwright emulates in each page and frame. Our own override gives the size, because it also has a scale. */
const CONTEXT = {
  viewport: null,
  // The settings of a person, as media queries tell them.
  reducedMotion: 'reduce',
  colorScheme: 'light',
  contrast: 'no-preference',
  forcedColors: 'none',
  // See scripts/service-workers.js, which stands in for them.
  serviceWorkers: 'block',
  acceptDownloads: false,
} as const;

/** Opens a page without any state. */
export async function openTarget(browser: Browser, options: TargetOptions): Promise<Target> {
  const context = await browser.newContext(CONTEXT);
  try {
    return await openIn(context, options);
  } catch (error) {
    await context.close().catch(() => undefined);
    throw error;
  }
}

async function openIn(context: BrowserContext, { identity, scripts, scale = PAINT_SCALE }: TargetOptions): Promise<Target> {
  const page = await context.newPage();
  context.on('page', (other) => void other.close().catch(() => undefined));
  const cdp = (await context.newCDPSession(page)) as unknown as Cdp;
  let lose = (_why: string): void => undefined;
  let crashed = false;
  page.on('crash', () => (crashed = true));
  let windows = 0;
  cdp.on('Page.windowOpen', () => (windows += 1));
  // Playwright reports the crash of a frame of another site as one of the page.
  cdp.on('Inspector.targetCrashed', () => lose('The page crashed its tab.'));
  page.on('close', () => lose('The tab was closed.'));
  let onFrame = (_frame: FrameCdp): Promise<unknown> => Promise.resolve();
  const sources = [
    { source: await serviceWorkersSource() },
    // The isolated world comes first, because the script for the page's own world hands its record to it.
    ...(scripts === undefined ? [] : [{ source: scripts.source, worldName: WORLD }, { source: scripts.watch }]),
  ];
  const prepare = (session: Cdp): Promise<unknown> =>
    Promise.all([
      introduce(session, identity),
      session.send('Page.enable'),
      ...sources.map((script) => session.send('Page.addScriptToEvaluateOnNewDocument', script)),
    ]);
  const resize = (size = VIEWPORT): Promise<unknown> =>
    cdp.send('Emulation.setDeviceMetricsOverride', {
      ...size,
      ...{ screenWidth: size.width, screenHeight: size.height },
      deviceScaleFactor: 1,
      mobile: false,
      scale,
      screenOrientation: { type: 'landscapePrimary', angle: 0 },
    });
  const [frameProcesses] = await Promise.all([
    followFrames(cdp, (frame) => Promise.all([prepare(frame), onFrame(frame)])),
    prepare(cdp),
    resize(),
  ]);
  return {
    page,
    cdp,
    resize,
    windows: () => windows,
    frameProcesses,
    onFrame: (listener) => void (onFrame = listener),
    async describe({ session }) {
      const { targetInfo } = await session.send('Target.getTargetInfo');
      return { url: targetInfo.url, parentId: targetInfo.parentFrameId ?? null };
    },
    onLost: (listener) => void (lose = listener),
    crashed: () => crashed,
    close: () => context.close(),
  };
}

// How the browser of a scan introduces itself to sites. Everything that a site can read says the same.

/** The languages that a site is asked for, most wanted first, such as `de-DE`, `de` and `en`. */
export function languagesOf(locale: Locale): [string, ...string[]] {
  const { region } = new Intl.Locale(locale).maximize();
  return [`${locale}-${region}`, locale, ...(locale === 'en' ? [] : ['en'])];
}

/** Names the scanner in requests without a browser: for robots.txt and sitemaps. @param contact an address that tells who scans */
export const agentName = (version: string, contact?: string): string =>
  `Curbcut/${version}${contact === undefined ? '' : ` (+${contact})`}`;

/** A brand whose name and version mean nothing. Browsers send one, so that sites read the whole list. */
const NO_BRAND = { brand: 'Not)A;Brand', version: '8' };

export interface Identity {
  /** The user agent of a browser, because some sites require one, followed by our name. */
  userAgent: string;
  languages: readonly [string, ...string[]];
  brands: { brand: string; version: string }[];
}

/**
 * @param browserVersion the version of Chromium, such as `140.0.7339.16`
 * @param version Curbcut's version
 */
export function identityOf(browserVersion: string, version: string, locale: Locale, contact?: string): Identity {
  const major = browserVersion.split('.')[0] ?? '0';
  return {
    userAgent: `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${major}.0.0.0 Safari/537.36 ${agentName(version, contact)}`,
    languages: languagesOf(locale),
    brands: [NO_BRAND, { brand: 'Chromium', version: major }, { brand: 'Curbcut', version: version.split('.')[0] ?? '0' }],
  };
}

/**
 * Applies an identity to a page, or to a frame in a process of its own. Playwright can set neither the brands (`Sec-CH-UA`), which
 * would contradict the user agent, nor more than one language.
 */
async function introduce(cdp: Cdp, { userAgent, languages, brands }: Identity): Promise<void> {
  const override = {
    userAgent,
    acceptLanguage: languages.join(','),
    platform: 'Linux x86_64',
    userAgentMetadata: { brands, platform: 'Linux', platformVersion: '', architecture: 'x86', model: '', mobile: false },
  };
  await Promise.all([
    cdp.send('Emulation.setUserAgentOverride', override),
    cdp.send('Emulation.setLocaleOverride', { locale: languages[0].replace('-', '_') }),
  ]);
}
