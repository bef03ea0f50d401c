/** `tools/images --if-changed`, with a builder and an image store that are files. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..', '..');

describe('tools/images --if-changed', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-images-'));
    for (const name of ['tools', 'images/service', 'api']) mkdirSync(join(folder, name), { recursive: true });
    cpSync(join(ROOT, 'tools', 'images'), join(folder, 'tools', 'images'));
    write('images/service/Dockerfile', 'FROM node:24\nCOPY --from=packages /app ./\nCOPY --chown=1:1 api api\n');
    write('.dockerignore', '**/*.test.ts\n');
    write('api/main.ts', 'first');
    write('store', '');
    // Each build gets a digest of its own, as the layers of a real one would.
    write('build', `#!/bin/sh\necho "$1 sha256:$(date +%N | sha256sum | cut -c1-64) 12MB" >"${folder}/store"\n`);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (path: string, text: string) => writeFileSync(join(folder, path), text, { mode: 0o755 });
  /** Whether the image is built. */
  const builds = (environment: Record<string, string> = {}): boolean => {
    const before = readFileSync(join(folder, 'store'), 'utf8');
    execFileSync(join(folder, 'tools', 'images'), ['--if-changed', 'service'], {
      env: { PATH: process.env.PATH, IMAGE_BUILD: join(folder, 'build'), IMAGE_LIST: `cat ${folder}/store`, ...environment },
      stdio: 'ignore',
    });
    return readFileSync(join(folder, 'store'), 'utf8') !== before;
  };

  it('builds once', () => {
    expect([builds(), builds()]).to.deep.equal([true, false]);
  });

  it('builds if a copied file or the Dockerfile changes, but not for other files', () => {
    builds();
    write('README.md', 'not copied');
    write('api/main.test.ts', 'not copied');
    expect(builds()).to.equal(false);
    write('api/main.ts', 'second');
    expect(builds()).to.equal(true);
    write('images/service/Dockerfile', 'FROM node:25\nCOPY api api\n');
    expect(builds()).to.equal(true);
  });

  it('builds if the store was emptied, or holds an image that something else built', () => {
    builds();
    write('store', '');
    expect(builds()).to.equal(true);
    write('store', `curbcut.dev/service:dev sha256:${'0'.repeat(64)}\n`);
    expect(builds()).to.equal(true);
  });

  it('always builds if the store cannot be listed', () => {
    builds();
    expect(builds({ IMAGE_LIST: '' })).to.equal(true);
    expect(builds({ IMAGE_LIST: 'false' })).to.equal(true);
  });
});
