import { access, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLogger } from '../../test/support/silent-logger.ts';
import { findChromium, launchChromium, withOrWithoutSandbox } from './chromium.ts';
import { startBrowser } from './process.ts';

const path = process.env.PATH ?? '';
const machine = { path, root: process.getuid?.() === 0 };

/** Starts a shell script instead of a browser, and returns the error. */
const failureOf = (script: string): Promise<unknown> =>
  startBrowser('/bin/sh', ['-c', script], { PATH: path }).catch((error: unknown) => error);

describe('the process of a browser', () => {
  it('fails with what the browser wrote, if it exits at once', async () => {
    expect(await failureOf('echo "No usable sandbox!" >&2; exit 3'))
      .to.be.instanceOf(Error)
      .with.property('message')
      .that.matches(/code 3.*No usable sandbox!/s);
  });

  it('fails if its executable does not exist', async () => {
    const error = await startBrowser('/nowhere/chromium', [], {}).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes('/nowhere/chromium');
  });

  it('ends with all processes of the browser, and deletes its profile', async () => {
    const browser = await startBrowser(findChromium(machine), ['--headless', '--no-sandbox'], { PATH: path, HOME: tmpdir() });
    const [started] = (await processesWith('--user-data-dir=')).filter(({ parent }) => parent === process.pid);
    const profile = /--user-data-dir=(\S+)/.exec(started?.line ?? '')?.[1] ?? '';
    await access(profile);
    await browser.kill();
    expect(await access(profile).catch(() => 'deleted')).to.equal('deleted');
    expect(await processesWith(profile)).to.deep.equal([]);
    const command = await browser.connection.root.send('Browser.getVersion').catch((error: unknown) => error);
    expect(command).to.be.instanceOf(Error);
  });

  it('states its version, and reports that it has exited', async () => {
    const browser = await launchChromium(machine, 'http://127.0.0.1:1', silentLogger, ['en']);
    expect(browser.version).to.match(/^\d+(\.\d+){3}$/);
    const gone = new Promise<void>((resolve) => browser.onDisconnected(resolve));
    expect(browser.isConnected()).to.equal(true);
    await browser.connection.root.send('Browser.crash').catch(() => undefined);
    await gone;
    expect(browser.isConnected()).to.equal(false);
    await browser.close();
  });
});

describe("the browser's sandbox", () => {
  /** Runs starts that fail with these messages in turn, and returns the flags that were used. */
  async function flagsFor(root: boolean, ...failures: string[]): Promise<{ flags: string[][]; error: unknown }> {
    const flags: string[][] = [];
    const error = await withOrWithoutSandbox({ path: '', root }, silentLogger, (more) => {
      flags.push(more);
      const failure = failures.shift();
      return failure === undefined ? Promise.resolve(null) : Promise.reject(new Error(failure));
    }).catch((reason: unknown) => reason);
    return { flags, error };
  }

  it('is used where it starts, and left out for root and where user namespaces are not allowed', async () => {
    expect((await flagsFor(false)).flags).to.deep.equal([[]]);
    expect((await flagsFor(true)).flags).to.deep.equal([['--no-sandbox']]);
    expect((await flagsFor(false, 'FATAL: No usable sandbox!')).flags).to.deep.equal([[], ['--no-sandbox']]);
  });

  it('is not left out because of another failure', async () => {
    const { flags, error } = await flagsFor(false, 'out of memory');
    expect(flags).to.deep.equal([[]]);
    expect(error).to.be.instanceOf(Error);
  });
});

/** The running processes whose command lines contain a text. */
async function processesWith(text: string): Promise<{ parent: number; line: string }[]> {
  const found: { parent: number; line: string }[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const read = (name: string): Promise<string> => readFile(join('/proc', pid, name), 'utf8').catch(() => '');
    const line = (await read('cmdline')).replaceAll('\0', ' ');
    if (line.includes(text)) found.push({ parent: Number(/^PPid:\s*(\d+)/m.exec(await read('status'))?.[1]), line });
  }
  return found;
}
