/** Installs the compared scanners, which only `make bench` needs. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Installs the peers' npm packages, and Debian's Chromium with its WebDriver for @axe-core/cli. */
export function installPeers(): void {
  const here = join(import.meta.dirname, 'peers');
  const lock = join(here, 'package-lock.json');
  const mark = join(here, 'node_modules', '.curbcut-lock');
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== readFileSync(lock, 'utf8')) {
    console.error('bench: installing pa11y-ci and @axe-core/cli');
    execFileSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], { cwd: here, stdio: ['ignore', 'ignore', 'inherit'] });
    cpSync(lock, mark);
  }
  if (!existsSync('/usr/bin/chromedriver') || !existsSync('/usr/bin/chromium')) {
    console.error('bench: installing chromium and chromium-driver (Debian packages)');
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium', 'chromium-driver'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  }
}
