/** What images/cli/Dockerfile copies, run as the image would: without the scanner. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import { smallReport } from '../report/samples.ts';
import { ROOT } from './pull-request/action-step.ts';

describe('the command line without the scanner', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-image-'));
    const dockerfile = await readFile(join(ROOT, 'images/cli/Dockerfile'), 'utf8');
    const copied = [...dockerfile.matchAll(/^COPY (\w+) \1$/gm)].map(([, name]) => name!);
    expect(copied).to.include('cli');
    for (const name of copied)
      await cp(join(ROOT, name), join(folder, name), { recursive: true, filter: (path) => !/node_modules|\.test\.ts$/.test(path) });
    await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function curbcut(...args: string[]) {
    const child = spawn(process.execPath, [join(folder, 'cli/start.cjs'), 'curbcut', 'cli/main.ts', ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    return { code, stdout, stderr };
  }

  it('starts, and writes a comment from an export', async () => {
    expect(await curbcut('--version')).to.deep.equal({ code: 0, stdout: `curbcut ${CURBCUT_VERSION}\n`, stderr: '' });
    await writeFile(join(folder, 'export.json'), JSON.stringify(smallReport()));
    const comment = await curbcut('comment', 'export.json');
    expect(comment.code, comment.stderr).to.equal(0);
    expect(comment.stdout).to.include('<!-- curbcut:');
  });

  it('says where scans without a service can run', async () => {
    const { code, stderr } = await curbcut('scan', '--local', 'https://shop.example/');
    expect(code).to.equal(2);
    expect(stderr).to.include('--local needs the scanner').and.include('image');
  });
});
