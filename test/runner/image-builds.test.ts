/** `tools/images`, with a builder and an image store that are files. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..', '..');

describe('tools/images', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-images-'));
    for (const name of ['tools', 'images/service', 'api']) mkdirSync(join(folder, name), { recursive: true });
    cpSync(join(ROOT, 'tools', 'images'), join(folder, 'tools', 'images'));
    write('images/service/Dockerfile', 'FROM node:24\nCOPY --from=packages /app ./\nCOPY --chown=1:1 api api\n');
    write('.dockerignore', '**/*.test.ts\n');
    write('images/node-image', 'registry.example/node:24@sha256:1234\n');
    write('package.json', '{\n  "version": "1.2.3",\n}\n');
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
    chmodSync(join(folder, 'api/main.ts'), 0o644);
    expect([builds(), builds()]).to.deep.equal([true, false]);
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

  /** Runs the script with a program that prints its arguments instead of a builder. @returns what it was called with */
  function calls(builder: string, args: readonly string[], environment: Record<string, string> = {}): string[] {
    mkdirSync(join(folder, 'bin'), { recursive: true });
    write(`bin/${builder}`, `#!/bin/sh\necho "$0 $*" >>"${folder}/calls"\n`);
    // The system's own programs without its builders.
    const PATH = `${join(folder, 'bin')}:/usr/bin:/bin`;
    execFileSync(join(folder, 'tools', 'images'), args, {
      env: { PATH, SOURCE_DATE_EPOCH: '1700000000', SOURCE_URL: 'https://git.example.com/curbcut', ...environment },
      stdio: 'ignore',
    });
    const written = readFileSync(join(folder, 'calls'), 'utf8').trimEnd().split('\n');
    return written.map((line) => line.replaceAll(`${folder}/`, '').replace('bin/', ''));
  }

  it('labels images with the version, the date and the source, and uses the pinned base', () => {
    const build = calls('docker', ['service']).find((line) => line.includes(' build '));
    expect(build)
      .to.include('docker build -t curbcut.dev/service:dev')
      .and.include('--build-arg NODE_IMAGE=registry.example/node:24@sha256:1234 ')
      .and.include('--label org.opencontainers.image.version=1.2.3 ')
      .and.include('--label org.opencontainers.image.created=2023-11-14T22:13:20Z ')
      .and.include('--label org.opencontainers.image.source=https://git.example.com/curbcut ');
  });

  it('names the commit, and whether files differ from it', () => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { cwd: folder, stdio: 'ignore' });
    git('init');
    git('add', 'api', 'tools', 'images', 'package.json', '.dockerignore');
    git('commit', '-m', 'First');
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim();
    /** Of the last build. */
    const revision = () =>
      calls('docker', ['service'])
        .flatMap((line) => /image\.revision=(\S+)/.exec(line)?.[1] ?? [])
        .at(-1);
    expect(revision()).to.equal(commit);
    write('api/main.ts', 'changed');
    expect(revision()).to.equal(`${commit}-dirty`);
  });

  it('pushes by digest, with SBOM and provenance, for several platforms', () => {
    const pushed = calls('docker', ['--push', 'registry.example/curbcut', 'service'], { PLATFORMS: 'linux/amd64,linux/arm64' })[1];
    expect(pushed)
      .to.match(/^docker buildx build --platform linux\/amd64,linux\/arm64 --sbom=true --provenance=mode=max /)
      .and.include('--build-arg SOURCE_DATE_EPOCH=1577836800 ')
      .and.include('type=image,name=registry.example/curbcut/service,push=true,push-by-digest=true,rewrite-timestamp=true ');
  });

  it('refuses to push with a builder that makes no SBOM and no provenance', () => {
    expect(() => calls('podman', ['--push', 'registry.example/curbcut', 'service'])).to.throw();
    expect(existsSync(join(folder, 'calls'))).to.equal(false);
  });
});
