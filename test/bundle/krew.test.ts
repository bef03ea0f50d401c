/** krew's archive, unpacked and linked as krew does it, and its manifest. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import { opened } from '../support/opened.ts';
import { execute, KREW_ARCHIVE, openInstallation, SOURCE_URL } from './installed.ts';

interface Plugin {
  metadata: { name: string };
  spec: {
    version: string;
    platforms: { selector: { matchLabels: { os: string; arch: string } }; uri: string; sha256: string; bin: string }[];
  };
}

describe("krew's archive", () => {
  const installation = opened(openInstallation);
  let plugin: Plugin;
  let bin: string;
  before(() => {
    plugin = parse(readFileSync(join(installation.out, 'curbcut.yaml'), 'utf8')) as Plugin;
    const store = join(installation.folder, 'store/curbcut', plugin.spec.version);
    bin = join(installation.folder, 'krew-bin');
    for (const folder of [store, bin]) mkdirSync(folder, { recursive: true });
    execFileSync('tar', ['-xzf', join(installation.out, KREW_ARCHIVE), '-C', store]);
    symlinkSync(join(store, plugin.spec.platforms[0]!.bin), join(bin, `kubectl-${plugin.metadata.name}`));
  });

  it('is what the manifest names for every platform', () => {
    const sha256 = createHash('sha256').update(readFileSync(join(installation.out, KREW_ARCHIVE))).digest('hex'); // prettier-ignore
    expect(plugin.spec.version).to.equal(`v${CURBCUT_VERSION}`);
    const platforms = plugin.spec.platforms.map(({ selector: { matchLabels }, ...rest }) => ({ ...matchLabels, ...rest }));
    expect(platforms.map(({ os, arch }) => `${os}/${arch}`)).to.have.members([
      'linux/amd64',
      'linux/arm64',
      'darwin/amd64',
      'darwin/arm64',
    ]);
    for (const platform of platforms) {
      expect(platform.sha256).to.equal(sha256);
      expect(platform.uri).to.equal(`${SOURCE_URL}/releases/download/v${CURBCUT_VERSION}/${KREW_ARCHIVE}`);
    }
  });

  it('runs as a plugin of kubectl', async () => {
    const ran = await installation.run('kubectl', ['curbcut', '--version'], { PATH: `${bin}:${installation.path}` });
    expect(ran).to.deep.equal({ code: 0, stdout: `curbcut ${CURBCUT_VERSION}\n`, stderr: '' });
    const help = await execute(join(bin, 'kubectl-curbcut'), ['scan', '--help'], { PATH: installation.path });
    expect(help.stdout).to.include('kubectl curbcut scan URL');
  });

  it('without Node.js ends with 2 and a sentence', async () => {
    const tools = join(installation.folder, 'tools');
    mkdirSync(tools);
    for (const tool of ['readlink', 'dirname']) symlinkSync(`/usr/bin/${tool}`, join(tools, tool));
    const ran = await execute(join(bin, 'kubectl-curbcut'), ['list'], { PATH: tools });
    expect(ran).to.include({ code: 2, stdout: '' });
    expect(ran.stderr).to.match(/^kubectl curbcut: Node\.js 22\.\d+ or later is required, and there is no node in PATH\.\n$/);
  });
});
