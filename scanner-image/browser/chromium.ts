/** Finds Chromium and starts it for untrusted pages. All connections of the browser go through the egress proxy. */
import { accessSync, constants, statfsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import type { Logger } from '../../platform/logger.ts';

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

function sharedMemoryIsTiny(): boolean {
  try {
    const { blocks, bsize } = statfsSync('/dev/shm');
    return blocks * bsize < SHARED_MEMORY;
  } catch {
    return true;
  }
}

/**
 * Starts Chromium behind a proxy.
 * @param languages what sites are asked for, most wanted first
 * @param proxy the address of the egress proxy; loopback goes through it too (Playwright adds `<-loopback>`)
 */
export async function launchChromium(machine: Machine, proxy: string, log: Logger, languages: readonly string[]): Promise<Browser> {
  const executablePath = findChromium(machine);
  const launch = (sandbox: boolean): Promise<Browser> =>
    chromium.launch({
      executablePath,
      headless: true,
      chromiumSandbox: sandbox,
      proxy: { server: proxy },
      args: [...FLAGS, `--accept-lang=${languages.join(',')}`],
      ignoreDefaultArgs: [
        '--disable-popup-blocking',
        // Playwright's default makes every page use files although shared memory is available.
        ...(sharedMemoryIsTiny() ? [] : ['--disable-dev-shm-usage']),
      ],
      env: { PATH: machine.path, HOME: machine.home ?? '/tmp', XDG_CONFIG_HOME: '/tmp', XDG_CACHE_HOME: '/tmp' },
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      timeout: 30_000,
    });
  if (machine.root) return launch(false);
  try {
    const browser = await launch(true);
    log.info({}, 'browser started with its own sandbox');
    return browser;
  } catch (error) {
    // A restricted pod may not create user namespaces. There the pod itself is the sandbox.
    if (!(error instanceof Error) || !/sandbox/i.test(error.message)) throw error;
    log.info({}, 'browser started without its own sandbox, because user namespaces are not allowed');
    return launch(false);
  }
}
