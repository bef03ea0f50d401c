/** Finds Chromium and starts it for untrusted pages. All connections of the browser go through the egress proxy. */
import { accessSync, constants, statfsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Logger } from '../../platform/logger.ts';
import type { Connection } from './cdp.ts';
import { startBrowser } from './process.ts';

/** The environment of the browser. */
export interface Machine {
  /** The executable to use instead of searching `PATH`. */
  chromiumPath?: string;
  /** `PATH`. */
  path: string;
  /** `HOME`, if there is one. */
  home?: string;
  /** Whether the process runs as root. Chromium's sandbox does not start then. */
  root: boolean;
}

/** In order of preference. The headless shell is faster, because it has no window system. */
const NAMES = ['chromium-headless-shell', 'chrome-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The shared memory that Chromium needs in /dev/shm, in bytes. With less it uses files in /tmp. */
const SHARED_MEMORY = 256 * 1024 * 1024;

/** @throws Error if no Chromium is found; the message names what to install or set */
export function findChromium(machine: Pick<Machine, 'chromiumPath' | 'path'>): string {
  if (machine.chromiumPath !== undefined) return machine.chromiumPath;
  for (const name of NAMES) {
    for (const folder of machine.path.split(delimiter)) {
      const file = join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        continue;
      }
    }
  }
  throw new Error('Chromium not found. Install the Debian package "chromium-headless-shell" (or "chromium"), or set CHROMIUM_PATH.');
}

/** Flags for untrusted pages. Every start of the browser has them. */
const FLAGS = [
  // Without this a page reaches any address over UDP. Chromium reads only the first name, the headless shell only the second.
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  // Documents of other sites get processes of their own, so that one that hangs or crashes does not affect the page.
  '--site-per-process',
  '--disable-background-networking',
  '--disable-client-side-phishing-detection',
  '--disable-domain-reliability',
  '--dns-prefetch-disable',
  '--no-pings',
  // No media plays, so only its first bytes are loaded; the rule on autoplaying sound needs no more.
  '--autoplay-policy=user-gesture-required',
  '--mute-audio',
  // Keeps the headless shell from opening more windows; Chromium itself blocks popups without a user gesture. Closing them
  // afterwards does not help: while one is closed, frames of the page that opened it may stop loading forever.
  '--block-new-web-contents',
  // The heap limit of a page: a page that needs more crashes alone, before the pod runs out of memory. With a smaller young
  // generation two tabs need 100 MB less, in the same time.
  '--js-flags=--max-old-space-size=768 --max-semi-space-size=8',
];

/** What a browser without a window and without a person needs. A driver of browsers sets such flags itself. */
const HEADLESS_FLAGS = [
  '--headless',
  '--hide-scrollbars',
  '--force-color-profile=srgb',
  // The pointer of a desktop computer: pages ask for it in media queries.
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
  // Pages in the background are tested too, as those in the foreground.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--disable-back-forward-cache',
  '--disable-ipc-flooding-protection',
  '--disable-hang-monitor',
  '--allow-pre-commit-input',
  // No experiments, updates, reports or dialogs of the browser itself.
  '--disable-field-trial-config',
  '--disable-breakpad',
  '--disable-component-extensions-with-background-pages',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-extensions',
  '--disable-prompt-on-repost',
  '--disable-search-engine-choice-screen',
  '--disable-sync',
  '--metrics-recording-only',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-service-autorun',
  '--password-store=basic',
  '--use-mock-keychain',
  // No process is started in advance of every navigation, because most are not used. `http:` is what was asked for. Frames of
  // other sites keep their storage, as in most browsers. The first paint is not delayed. The browser asks its maker for nothing.
  `--disable-features=${[
    'SpareRendererForSitePerProcess',
    ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable'],
    'ThirdPartyStoragePartitioning',
    'PaintHolding',
    ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'AvoidCorsURLLoaderRestartOnRedirect', 'DestroyProfileOnBrowserClose'],
    ...['AimEnabled', 'LensOverlay', 'MediaRouter', 'NetworkTimeServiceQuerying', 'OptimizationHints', 'PreconnectToSearch'],
  ].join(',')}`,
  // Several tabs can be photographed at the same time.
  '--enable-features=CDPScreenshotNewSurface,SkipListAccountsWithoutGaiaCookies',
  '--enable-unsafe-swiftshader',
];

function sharedMemoryIsTiny(): boolean {
  try {
    const { blocks, bsize } = statfsSync('/dev/shm');
    return blocks * bsize < SHARED_MEMORY;
  } catch {
    return true;
  }
}

/** A running browser. */
export interface Browser {
  connection: Connection;
  /** Such as `140.0.7339.16`. */
  version: string;
  isConnected(): boolean;
  /** Calls the function once, when the browser has exited. */
  onDisconnected(listener: () => void): void;
  /** Ends the browser, and resolves when it has exited. */
  close(): Promise<void>;
}

/** How to start a browser behind a proxy. */
export interface LaunchPlan {
  executable: string;
  args: string[];
  env: NodeJS.ProcessEnv;
}

/**
 * Plans the start of Chromium behind a proxy, for a driver that adds the flags of a browser without a window.
 * @param languages what sites are asked for, most wanted first
 * @param proxy the address of the egress proxy; loopback goes through it too
 */
export function planLaunch(machine: Machine, proxy: string, languages: readonly string[]): LaunchPlan {
  return {
    executable: findChromium(machine),
    args: [
      ...FLAGS,
      `--accept-lang=${languages.join(',')}`,
      `--proxy-server=${proxy}`,
      '--proxy-bypass-list=<-loopback>',
      ...(sharedMemoryIsTiny() ? ['--disable-dev-shm-usage'] : []),
    ],
    env: { PATH: machine.path, HOME: machine.home ?? '/tmp', XDG_CONFIG_HOME: '/tmp', XDG_CACHE_HOME: '/tmp', TZ: 'UTC' },
  };
}

/** Starts Chromium behind a proxy: see `planLaunch`. @throws Error with what the browser wrote, if it does not start */
export async function launchChromium(machine: Machine, proxy: string, log: Logger, languages: readonly string[]): Promise<Browser> {
  const { executable, args, env } = planLaunch(machine, proxy, languages);
  const started = await withOrWithoutSandbox(machine, log, (flags) =>
    startBrowser(executable, [...HEADLESS_FLAGS, ...args, ...flags], env),
  );
  const { connection, product, kill } = started;
  let connected = true;
  connection.root.onClosed(() => (connected = false));
  return {
    connection,
    version: product.split('/')[1] ?? product,
    isConnected: () => connected,
    onDisconnected: connection.root.onClosed.bind(connection.root),
    close: kill,
  };
}

/**
 * Starts a browser with its sandbox, or without it where its sandbox cannot start.
 * @param start starts the browser with additional flags
 */
export async function withOrWithoutSandbox<T>(machine: Machine, log: Logger, start: (flags: string[]) => Promise<T>): Promise<T> {
  if (machine.root) return start(NO_SANDBOX);
  try {
    const browser = await start([]);
    log.info({}, 'browser started with its own sandbox');
    return browser;
  } catch (error) {
    // A restricted pod may not create user namespaces. There the pod itself is the sandbox.
    if (!(error instanceof Error) || !/sandbox/i.test(error.message)) throw error;
    log.info({}, 'browser started without its own sandbox, because user namespaces are not allowed');
    return start(NO_SANDBOX);
  }
}

const NO_SANDBOX = ['--no-sandbox'];
