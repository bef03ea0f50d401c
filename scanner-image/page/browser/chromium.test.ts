import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLogger } from '../../../test/support/silent-logger.ts';
import { launchChromium, withOrWithoutSandbox } from './chromium.ts';

const machine = { path: process.env.PATH ?? '', root: process.getuid?.() === 0 };
const launch = (chromiumPath?: string) => launchChromium({ ...machine, chromiumPath }, 'http://127.0.0.1:1', silentLogger, ['en']);

describe('the start of the browser', () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'curbcut-test-'))));
  afterEach(() => rm(folder, { recursive: true }));

  /** Starts a shell script instead of a browser, and returns the message of the error. */
  async function failureOf(script: string): Promise<string> {
    const path = join(folder, 'browser');
    await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return launch(path).then(
      () => 'it started',
      (error: Error) => error.message,
    );
  }

  it('fails with what the browser wrote, and without its command line', async () => {
    const message = await failureOf('echo "cannot open shared object file" >&2; exit 3');
    expect(message).to.equal('The browser did not start: cannot open shared object file\nexit: exitCode=3, signal=null');
  });

  it('fails if its executable does not exist', async () => {
    const error = await launch('/nowhere/chromium').catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(Error).with.property('message').that.includes('/nowhere/chromium');
  });

  it('states its version; its end leaves no process and no profile behind', async () => {
    // Other tests of the process share a browser.
    const others = (await processesWith('--user-data-dir=')).map(({ line }) => line);
    const browser = await launch(process.env.CHROMIUM_PATH);
    expect(browser.version()).to.match(/^\d+(\.\d+){3}$/);
    const [started] = (await processesWith('--user-data-dir=')).filter(
      ({ parent, line }) => parent === process.pid && !others.includes(line),
    );
    const profile = /--user-data-dir=(\S+)/.exec(started?.line ?? '')?.[1] ?? '';
    await access(profile);
    await browser.close();
    expect(browser.isConnected()).to.equal(false);
    expect(await access(profile).catch(() => 'deleted')).to.equal('deleted');
    expect(await processesWith(profile)).to.deep.equal([]);
  });

  it('is followed by an event when it has crashed', async () => {
    const browser = await launch(process.env.CHROMIUM_PATH);
    const gone = new Promise((resolve) => browser.once('disconnected', resolve));
    const session = await browser.newBrowserCDPSession();
    session.send('Browser.crash').catch(() => undefined);
    await gone;
    expect(browser.isConnected()).to.equal(false);
    await browser.close();
  });
});

describe("the browser's sandbox", () => {
  /** Runs starts that fail with these messages in turn, and returns which of them had the sandbox. */
  async function startsFor(root: boolean, ...failures: string[]): Promise<{ starts: boolean[]; error: unknown }> {
    const starts: boolean[] = [];
    const error = await withOrWithoutSandbox({ path: '', root }, silentLogger, (sandbox) => {
      starts.push(sandbox);
      const failure = failures.shift();
      return failure === undefined ? Promise.resolve(null) : Promise.reject(new Error(failure));
    }).catch((reason: unknown) => reason);
    return { starts, error };
  }

  it('is used where it starts, and left out for root and where user namespaces are not allowed', async () => {
    expect((await startsFor(false)).starts).to.deep.equal([true]);
    expect((await startsFor(true)).starts).to.deep.equal([false]);
    expect((await startsFor(false, 'FATAL: No usable sandbox!')).starts).to.deep.equal([true, false]);
  });

  it('is not left out because of another failure', async () => {
    const { starts, error } = await startsFor(false, 'out of memory');
    expect(starts).to.deep.equal([true]);
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
