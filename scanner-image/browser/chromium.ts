/** Finds Chromium and starts it so that it can open anyone's page: every connection through the egress proxy, nothing of its own. */
import { accessSync, constants, statfsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import type { Logger } from '../../platform/logger.ts';

/** What the process that starts the browser knows of its machine. */
export interface Machine {
  /** A Chromium to take instead of the one that is found. */
  chromiumPath?: string;
  /** `PATH`. */
  path: string;
  /** `HOME`, if there is one. */
  home?: string;
  /** True where the process is root: Chromium's sandbox refuses to start then. */
  root: boolean;
}

/** The quickest first: the headless shell has no window system at all. */
const NAMES = ['chromium-headless-shell', 'chrome-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The shared memory that Chromium wants in /dev/shm, in bytes; with less it takes files in /tmp. */
const SHARED_MEMORY = 256 * 1024 * 1024;

/** @throws Error that says what to install or set */
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
  throw new Error('No Chromium was found. Install Debian\'s "chromium-headless-shell" (or "chromium"), or set CHROMIUM_PATH to one.');
}

const FLAGS = [
  // Without it a page reaches any address by UDP. Chromium listens to the first name alone, the headless shell to the second.
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-client-side-phishing-detection',
  '--disable-domain-reliability',
  '--dns-prefetch-disable',
  '--no-pings',
  // Nothing plays, so media load no more than their first bytes; the rule on sound that starts by itself reads only those.
  '--autoplay-policy=user-gesture-required',
  '--mute-audio',
  // The headless shell opens no second window then; Chromium itself blocks those that no person asked for. Closing them
  // afterwards is no help: while one is closed, frames of the page that opened it may stop loading for good.
  '--block-new-web-contents',
  // A page's own heap: one that wants more crashes by itself, before the pod does.
  '--js-flags=--max-old-space-size=768',
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
 * @param proxy the egress proxy's address; loopback goes through it too (Playwright adds `<-loopback>`)
 */
export async function launchChromium(machine: Machine, proxy: string, log: Logger): Promise<Browser> {
  const executablePath = findChromium(machine);
  const launch = (sandbox: boolean): Promise<Browser> =>
    chromium.launch({
      executablePath,
      headless: true,
      chromiumSandbox: sandbox,
      proxy: { server: proxy },
      args: FLAGS,
      ignoreDefaultArgs: [
        '--disable-popup-blocking',
        // Playwright's default; it makes every page go through files where memory is at hand.
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
    log.info({}, 'the browser runs in a sandbox of its own');
    return browser;
  } catch (error) {
    // A restricted pod may not make user namespaces; there the pod itself is the sandbox.
    if (!(error instanceof Error) || !/sandbox/i.test(error.message)) throw error;
    log.info({}, 'the browser runs without its own sandbox, for this machine allows no user namespaces');
    return launch(false);
  }
}
