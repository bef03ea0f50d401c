/** What tools/setup says on machines without apt-get. They consist of faked programs, and of some of this machine that every system has. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..');
const COMMON = ['bash', 'cat', 'cmp', 'cp', 'dirname', 'env', 'grep', 'mktemp', 'rm', 'sed'];
const FEDORA = 'NAME="Fedora Linux"\nID=fedora\nPRETTY_NAME="Fedora Linux 42 (Workstation Edition)"\n';
const ALPINE = 'NAME="Alpine Linux"\nID=alpine\nPRETTY_NAME="Alpine Linux v3.22"\n';

describe('tools/setup without apt-get', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-setup-'));
    for (const path of ['bin', 'tools/node', 'node_modules']) mkdirSync(join(folder, path), { recursive: true });
    for (const path of ['tools/setup', 'tools/missing.sh', 'tools/node.sh', 'package-lock.json'])
      cpSync(join(ROOT, path), join(folder, path));
    // As after an installation of the npm packages.
    cpSync(join(ROOT, 'package-lock.json'), join(folder, 'node_modules/.for-run'));
    for (const name of COMMON) {
      const found = ['/usr/bin', '/bin'].map((bin) => join(bin, name));
      symlinkSync(found[0]!, join(folder, 'bin', name));
    }
    program('id', 'echo 1000');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const program = (name: string, script = ''): void =>
    writeFileSync(join(folder, 'bin', name), `#!${folder}/bin/bash\n${script}\n`, { mode: 0o755 });

  /** Runs tools/setup on a system with these programs. */
  function setup(
    system: 'Darwin' | 'Linux',
    release: string,
    programs: Readonly<Record<string, string>>,
    options: { args?: string[]; env?: Record<string, string> } = {},
  ) {
    program('uname', `echo ${system}`);
    writeFileSync(join(folder, 'os-release'), release);
    for (const [name, script] of Object.entries(programs)) program(name, script);
    const { status, stdout, stderr } = spawnSync(join(folder, 'bin/bash'), [join(folder, 'tools/setup'), ...(options.args ?? [])], {
      cwd: folder,
      env: { PATH: join(folder, 'bin'), OS_RELEASE: join(folder, 'os-release'), ...options.env },
      encoding: 'utf8',
    });
    return { status, output: stdout + stderr };
  }

  const NODE_20 = { node: 'echo v20.1.0', npm: '' };
  const NODE_24 = { node: 'echo v24.1.0', npm: '' };

  it('says what macOS lacks', () => {
    expect(setup('Darwin', '', NODE_20)).to.deep.equal({
      status: 1,
      output:
        "setup: macOS lacks Node.js 24, a browser (Chromium) and nats-server; run 'brew install node chromium nats-server', then run this again\n",
    });
  });

  it('says what Fedora lacks: it can install Node.js 24 itself', () => {
    expect(setup('Linux', FEDORA, { ...NODE_20, dnf: '' })).to.deep.equal({
      status: 1,
      output:
        "setup: Fedora Linux 42 (Workstation Edition) lacks a browser (Chromium) and nats-server; run 'sudo dnf install chromium nats-server', then run this again\n",
    });
    expect(setup('Linux', FEDORA, { chromium: '', 'nats-server': '' }).output).to.match(/^setup: installing Node\.js 24\n/);
  });

  it('says what Alpine lacks: no Node.js for it comes from npm', () => {
    expect(setup('Linux', ALPINE, { ...NODE_20, apk: '', 'nats-server': '' })).to.deep.equal({
      status: 1,
      output:
        "setup: Alpine Linux v3.22 lacks Node.js 24 and a browser (Chromium); run 'sudo apk add nodejs npm chromium', then run this again\n",
    });
  });

  it('names no command for a system that it does not know', () => {
    expect(setup('Linux', '', { chromium: '' })).to.deep.equal({
      status: 1,
      output: 'setup: this machine lacks Node.js 24, npm and nats-server; install what is missing, then run this again\n',
    });
  });

  it('uses what is there', () => {
    for (const [system, release] of [
      ['Darwin', ''],
      ['Linux', FEDORA],
      ['Linux', ALPINE],
    ] as const)
      expect(setup(system, release, { ...NODE_24, chromium: '', 'nats-server': '' })).to.deep.equal({ status: 0, output: '' });
  });

  it('uses the browser of CHROMIUM_PATH and the server of NATS_URL', () => {
    const env = { CHROMIUM_PATH: join(folder, 'bin/bash'), NATS_URL: 'nats://nats.example:4222' };
    expect(setup('Darwin', '', NODE_24, { env })).to.deep.equal({ status: 0, output: '' });
  });

  it('names what the tests need, too', () => {
    const { status, output } = setup(
      'Linux',
      FEDORA,
      { ...NODE_24, dnf: '', chromium: '', 'nats-server': '', git: '', go: '' },
      { args: ['--dev'] },
    );
    expect(status).to.equal(1);
    expect(output).to.include("lacks pdftoppm, kubectl and Python 3; run 'sudo dnf install poppler-utils kubernetes-client python3'");
  });
});
