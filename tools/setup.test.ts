/** What tools/setup says and installs on other machines than this one. They consist of faked programs, and of some of this machine that every system has. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'chai';
import { APPLICATIONS, BROWSERS, findChromium } from '../scanner-image/page/browser/chromium.ts';

const ROOT = join(import.meta.dirname, '..');
const COMMON = ['bash', 'cat', 'cmp', 'cp', 'dirname', 'env', 'grep', 'mkdir', 'mktemp', 'rm', 'sed'];
const FEDORA = 'NAME="Fedora Linux"\nID=fedora\nPRETTY_NAME="Fedora Linux 42 (Workstation Edition)"\n';
const alpine = (minor: number): string =>
  `NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.${minor}.1\nPRETTY_NAME="Alpine Linux v3.${minor}"\n`;
const UBUNTU = 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\nPRETTY_NAME="Ubuntu 24.04.3 LTS"\n';

describe('tools/setup', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-setup-'));
    for (const path of ['bin', 'tools/node', 'node_modules']) mkdirSync(join(folder, path), { recursive: true });
    for (const path of ['tools/setup', 'tools/missing.sh', 'tools/node.sh', 'package-lock.json'])
      cpSync(join(ROOT, path), join(folder, path));
    // As after an installation of the npm packages.
    for (const mark of ['.for-run', '.for-dev']) cpSync(join(ROOT, 'package-lock.json'), join(folder, 'node_modules', mark));
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
      env: {
        PATH: join(folder, 'bin'),
        OS_RELEASE: join(folder, 'os-release'),
        APPLICATIONS: join(folder, 'applications'),
        ...options.env,
      },
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
        "setup: macOS lacks Node.js 24, a browser (Chrome or Chromium) and nats-server; run 'brew install node google-chrome nats-server', then run this again\n",
    });
  });

  it('says what Fedora lacks: it can install Node.js 24 itself', () => {
    expect(setup('Linux', FEDORA, { ...NODE_20, dnf: '' })).to.deep.equal({
      status: 1,
      output:
        "setup: Fedora Linux 42 (Workstation Edition) lacks a browser (Chrome or Chromium) and nats-server; run 'sudo dnf install chromium nats-server', then run this again\n",
    });
    expect(setup('Linux', FEDORA, { chromium: '', 'nats-server': '' }).output).to.match(/^setup: installing Node\.js 24\n/);
  });

  it('says what Alpine lacks: no Node.js for it comes from npm', () => {
    expect(setup('Linux', alpine(23), { ...NODE_20, apk: '', 'nats-server': '' })).to.deep.equal({
      status: 1,
      output:
        "setup: Alpine Linux v3.23 lacks Node.js 24 and a browser (Chrome or Chromium); run 'sudo apk add nodejs npm chromium', then run this again\n",
    });
  });

  it('names no package of an older Alpine: its Node.js is too old', () => {
    expect(setup('Linux', alpine(22), { ...NODE_20, apk: '', 'nats-server': '', chromium: '' }).output).to.equal(
      'setup: Alpine Linux v3.22 lacks Node.js 24; its packages have an older Node.js: use Alpine 3.23, or the image try (docs/install.md), then run this again\n',
    );
    expect(setup('Linux', alpine(22), { ...NODE_24, apk: '', 'nats-server': '', chromium: '' })).to.deep.equal({ status: 0, output: '' });
  });

  it('finds a browser among the applications of macOS, as the scanner does', () => {
    expect(setup('Darwin', '', { ...NODE_24, 'nats-server': '' }).output).to.include('lacks a browser');
    for (const name of APPLICATIONS) {
      const file = join(folder, 'applications', name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, '', { mode: 0o755 });
      expect(setup('Darwin', '', NODE_24)).to.deep.equal({ status: 0, output: '' });
      expect(findChromium({ path: '/nowhere' }, join(folder, 'applications'))).to.equal(file);
      rmSync(file);
    }
  });

  it('finds every browser that the scanner finds', () => {
    for (const name of BROWSERS) {
      expect(setup('Darwin', '', { ...NODE_24, 'nats-server': '', [name]: '' }), name).to.deep.equal({ status: 0, output: '' });
      rmSync(join(folder, 'bin', name));
    }
  });

  it('finds no snap of Chromium, nor the script that starts it, as the scanner does', () => {
    mkdirSync(join(folder, 'snap/bin'), { recursive: true });
    const path = [join(folder, 'bin'), join(folder, 'snap/bin')].join(delimiter);
    program('../snap/bin/chromium');
    const programs = { ...NODE_24, 'nats-server': '', 'chromium-browser': 'exec /snap/bin/chromium "$@"' };
    expect(setup('Darwin', '', programs, { env: { PATH: path } }).output).to.include('lacks a browser');
    expect(() => findChromium({ path }, folder)).to.throw('The snap of Chromium cannot be used');

    expect(setup('Darwin', '', { ...programs, 'google-chrome': 'exec /opt/chrome' }, { env: { PATH: path } }).output).to.equal('');
    expect(findChromium({ path }, folder)).to.equal(join(folder, 'bin/google-chrome'));
  });

  it('to build a release, needs only Node.js and the npm packages', () => {
    expect(setup('Darwin', '', NODE_24, { args: ['--build'] })).to.deep.equal({ status: 0, output: '' });
    expect(setup('Linux', UBUNTU, { ...NODE_24, flock: '', 'apt-get': 'exit 1' }, { args: ['--build'] }).output).to.equal('');
  });

  it('refuses an unknown option', () => {
    expect(setup('Linux', '', {}, { args: ['--all'] })).to.deep.equal({
      status: 2,
      output: 'setup: unknown option --all; use --dev, --build, or none\n',
    });
  });

  describe('on Ubuntu, which has no package of Chromium', () => {
    const APT = { 'apt-get': `echo "$*" >>calls`, 'apt-cache': 'exit 1', id: 'echo 0', flock: '', 'fc-list': 'echo font' };

    it('names a browser to install', () => {
      const { status, output } = setup('Linux', UBUNTU, { ...NODE_24, ...APT, 'nats-server': '' });
      expect(status).to.equal(1);
      expect(output).to.equal(
        'setup: this system has no package chromium-headless-shell: install Google Chrome (google-chrome-stable), or set CHROMIUM_PATH, then run this again\n',
      );
    });

    it('runs the tests with a browser that is there', () => {
      for (const path of ['tools/python', '.curbcut/python']) {
        mkdirSync(join(folder, path), { recursive: true });
        writeFileSync(join(folder, path, 'requirements.txt'), '');
      }
      const tools = Object.fromEntries(
        ['pdftoppm', 'certutil', 'git', 'kubectl', 'go', 'zsh', 'fish', 'promtool', 'python3', 'google-chrome'].map((name) => [name, '']),
      );
      const { status, output } = setup('Linux', UBUNTU, { ...NODE_24, ...APT, ...tools }, { args: ['--dev'] });
      expect(status, output).to.equal(0);
      const calls = readFileSync(join(folder, 'calls'), 'utf8');
      expect(calls).to.include('update').and.not.include('chromium');
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
      ['Linux', alpine(23)],
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
    expect(output).to.include(
      "lacks pdftoppm, certutil, kubectl, Python 3, zsh and fish; run 'sudo dnf install poppler-utils nss-tools kubernetes-client python3 zsh fish'",
    );
  });
});
