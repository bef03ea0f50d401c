/** Finds Chromium and starts it for untrusted pages. All connections of the browser go through the egress proxy. */
import { accessSync, closeSync, constants, openSync, readSync, statfsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { type Browser, chromium } from 'playwright-core';
import { errorMessage } from '../../../platform/errors.ts';
import type { Logger } from '../../../platform/logger.ts';
import { certificatesIn } from '../../../platform/authorities.ts';

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
export const BROWSERS = [
  'chromium-headless-shell',
  'chrome-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];

/** Browsers that macOS has as applications. */
export const APPLICATIONS = ['Google Chrome.app/Contents/MacOS/Google Chrome', 'Chromium.app/Contents/MacOS/Chromium'];

/** The shared memory that Chromium needs in /dev/shm, in bytes. With less it uses files in /tmp. */
const SHARED_MEMORY = 256 * 1024 * 1024;

/**
 * @param applications the folder of macOS' applications
 * @throws Error if no Chromium is found; the message names what to install or set
 */
export function findChromium(machine: Pick<Machine, 'chromiumPath' | 'path'>, applications = '/Applications'): string {
  if (machine.chromiumPath !== undefined) return machine.chromiumPath;
  const folders = machine.path.split(delimiter);
  const files = BROWSERS.flatMap((name) => folders.map((folder) => join(folder, name)));
  for (const file of [...files, ...APPLICATIONS.map((name) => join(applications, name))]) {
    try {
      accessSync(file, constants.X_OK);
      if (!isSnap(file)) return file;
    } catch {
      continue;
    }
  }
  throw new Error(
    'Chromium not found. Install Google Chrome, or the Debian package "chromium-headless-shell" (or "chromium"), or set CHROMIUM_PATH. The snap of Chromium cannot be used.',
  );
}

/** Whether a file is the snap of Chromium, or the script with which Ubuntu starts it. The snap cannot read a profile in /tmp. */
function isSnap(file: string): boolean {
  const start = Buffer.alloc(4096);
  const opened = openSync(file, 'r');
  try {
    readSync(opened, start);
  } finally {
    closeSync(opened);
  }
  return file.includes('/snap/bin/') || (start.toString('latin1').startsWith('#!') && start.includes('/snap/bin/'));
}

/** Flags for untrusted pages, beside those with which Playwright starts a browser without a window. */
const FLAGS = [
  // Without this a page reaches any address over UDP. Chromium reads only the first name, the headless shell only the second.
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  // Documents of other sites get processes of their own, so that one that hangs or crashes does not affect the page.
  '--site-per-process',
  '--disable-client-side-phishing-detection',
  '--disable-domain-reliability',
  '--dns-prefetch-disable',
  '--no-pings',
  // No media plays, so only its first bytes are loaded; the rule on autoplaying sound needs no more.
  '--autoplay-policy=user-gesture-required',
  // Keeps the headless shell from opening more windows; Chromium itself blocks popups without a user gesture. Closing them
  // afterwards does not help: while one is closed, frames of the page that opened it may stop loading forever.
  '--block-new-web-contents',
  // The heap limit of a page: a page that needs more crashes alone, before the pod runs out of memory. With a smaller young
  // generation two tabs need 100 MB less, in the same time.
  '--js-flags=--max-old-space-size=768 --max-semi-space-size=8',
  // Only the last list of features counts, so this one repeats Playwright's. No process is started in advance of every
  // navigation, because most are not used. `http:` is what was asked for. Frames of other sites keep their storage, as in most
  // browsers. The first paint is not delayed. The browser asks its maker for nothing.
  `--disable-features=${[
    'SpareRendererForSitePerProcess',
    ...['HttpsUpgrades', 'HttpsFirstBalancedModeAutoEnable'],
    'ThirdPartyStoragePartitioning',
    'PaintHolding',
    ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'AvoidCorsURLLoaderRestartOnRedirect', 'DestroyProfileOnBrowserClose'],
    ...['AimEnabled', 'LensOverlay', 'MediaRouter', 'NetworkTimeServiceQuerying', 'OptimizationHints', 'PreconnectToSearch'],
  ].join(',')}`,
];

/** Flags of Playwright that are left out: with them, pages may open windows, and shared memory is a file. */
const NOT_WANTED = ['--disable-popup-blocking', '--disable-dev-shm-usage'];

function sharedMemoryIsTiny(): boolean {
  try {
    const { blocks, bsize } = statfsSync('/dev/shm');
    return blocks * bsize < SHARED_MEMORY;
  } catch {
    return true;
  }
}

/** The time in which a browser must answer its first command, in milliseconds. */
const START_MS = 30_000;

/**
 * Starts Chromium behind a proxy.
 * @param languages what sites are asked for, most wanted first
 * @param proxy the address of the egress proxy; loopback goes through it too
 * @throws Error with what the browser wrote, if it does not start
 */
export async function launchChromium(machine: Machine, proxy: string, log: Logger, languages: readonly string[]): Promise<Browser> {
  const executablePath = findChromium(machine);
  const args = [
    ...FLAGS,
    `--accept-lang=${languages.join(',')}`,
    `--proxy-server=${proxy}`,
    '--proxy-bypass-list=<-loopback>',
    ...(sharedMemoryIsTiny() ? ['--disable-dev-shm-usage'] : []),
  ];
  return withOrWithoutSandbox(machine, log, (chromiumSandbox) =>
    chromium
      .launch({
        executablePath,
        chromiumSandbox,
        args,
        ignoreDefaultArgs: NOT_WANTED.filter((flag) => !args.includes(flag)),
        env: { PATH: machine.path, HOME: machine.home ?? '/tmp', XDG_CONFIG_HOME: '/tmp', XDG_CACHE_HOME: '/tmp', TZ: 'UTC' },
        // The process of the scan decides what ends it.
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
        timeout: START_MS,
      })
      .catch((error: unknown) => {
        throw notStarted(error);
      }),
  );
}

/** Shortens an error of Playwright, which holds the command line twice, to what the browser wrote. */
function notStarted(error: unknown): Error {
  const [summary = '', ...log] = stripVTControlCharacters(errorMessage(error)).split('\n');
  const written = log
    .map((line) => /^ *- \[pid=\d+\](?:\[\w+\] (.*)| <process did (exit: .*)>)$/.exec(line))
    .filter((match) => match !== null);
  const why = written.length === 0 ? summary : written.map(([, text, exit]) => text ?? exit).join('\n');
  return new Error(`The browser did not start: ${why}`, { cause: error });
}

/**
 * Starts a browser with its sandbox, or without it where its sandbox cannot start.
 * @param start starts the browser with or without its sandbox
 */
export async function withOrWithoutSandbox<T>(machine: Machine, log: Logger, start: (sandbox: boolean) => Promise<T>): Promise<T> {
  if (machine.root) return start(false);
  try {
    const browser = await start(true);
    log.info({}, 'browser started with its own sandbox');
    return browser;
  } catch (error) {
    // A restricted pod may not create user namespaces. There the pod itself is the sandbox.
    if (!(error instanceof Error) || !/sandbox/i.test(error.message)) throw error;
    log.info({}, 'browser started without its own sandbox, because user namespaces are not allowed');
    return start(false);
  }
}

/**
 * Private authorities that the browser trusts for scanned sites. Chromium reads them from the NSS database of its user; flags that
 * ignore certificate errors would also accept expired certificates and those of other hosts.
 */
interface SiteTrust {
  machine: Machine;
  /** Deletes the database. */
  close(): Promise<void>;
}

/** Takes 20 ms on an idle machine. */
const CERTUTIL_MS = 20_000;

/**
 * Makes a home folder whose database has the authorities of a bundle.
 * @param bundle PEM; undefined: the browser keeps the home of the machine
 * @throws Error if certutil is not installed or fails
 */
export async function openSiteTrust(bundle: string | undefined, machine: Machine): Promise<SiteTrust> {
  if (bundle === undefined) return { machine, close: () => Promise.resolve() };
  const home = await mkdtemp(join(tmpdir(), 'curbcut-trust-'));
  const close = (): Promise<void> => rm(home, { recursive: true, force: true });
  const database = join(home, '.pki', 'nssdb');
  const certutil = (...args: string[]) =>
    promisify(execFile)('certutil', ['-d', `sql:${database}`, ...args], { env: { PATH: machine.path }, timeout: CERTUTIL_MS });
  try {
    await mkdir(database, { recursive: true });
    await certutil('-N', '--empty-password');
    for (const [at, certificate] of certificatesIn(bundle).entries()) {
      const file = join(home, 'authority.pem');
      await writeFile(file, certificate);
      // C: an authority for servers.
      await certutil('-A', '-n', `authority-${at}`, '-t', 'C,,', '-i', file);
    }
    return { machine: { ...machine, home }, close };
  } catch (error) {
    await close();
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const reason = isMissing ? 'certutil not found. Install the Debian package "libnss3-tools".' : errorMessage(error);
    throw new Error(`The browser cannot trust the private authorities of sites: ${reason}`, { cause: error });
  }
}
