/** `make release-dry-run` in a small copy of the repository, with a builder that writes images of one file. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { parse } from 'yaml';
import { versionOf } from './version.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const VERSION = versionOf(ROOT);
const DIGEST = `sha256:${'e'.repeat(64)}`;

/** Takes the arguments of `docker buildx build`, and writes an OCI archive with the labels for each platform. */
const BUILDER = `
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
const args = process.argv.slice(2);
if (args[0] !== 'buildx') process.exit(0);
const after = (name) => args.flatMap((arg, at) => (args[at - 1] === name ? [arg] : []));
const folder = process.env.FOLDER + '/oci';
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder + '/blobs/sha256', { recursive: true });
mkdirSync(folder + '/app', { recursive: true });
const blob = (content, mediaType) => {
  const bytes = typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content);
  const hash = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(folder + '/blobs/sha256/' + hash, bytes);
  return { mediaType, digest: 'sha256:' + hash, size: bytes.length };
};
const Labels = Object.fromEntries(after('--label').map((label) => label.split(/=(.*)/s)));
Object.assign(Labels, JSON.parse(process.env.OTHER_LABELS ?? '{}'));
writeFileSync(folder + '/app/sbom.cdx.json', JSON.stringify({ components: [{ name: 'pino', version: '1.0.0', purl: 'pkg:npm/pino@1.0.0', licenses: [{ expression: 'MIT' }] }] }));
const tar = execFileSync('tar', ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '-C', folder, '-cf', '-', 'app']);
const layer = blob(gzipSync(tar), 'application/vnd.oci.image.layer.v1.tar+gzip');
const manifests = (process.env.BUILT ?? after('--platform')[0] ?? 'linux/amd64').split(',').map((platform) => {
  const [os, architecture] = platform.split('/');
  const config = blob({ os, architecture, config: { Labels, User: process.env.USER_OF_IMAGE ?? '65532:65532' } }, 'application/vnd.oci.image.config.v1+json');
  return { ...blob({ config, layers: [layer] }, 'application/vnd.oci.image.manifest.v1+json'), platform: { os, architecture } };
});
const top = manifests.length === 1 ? manifests[0] : blob({ manifests }, 'application/vnd.oci.image.index.v1+json');
writeFileSync(folder + '/index.json', JSON.stringify({ manifests: [top] }));
const dest = after('--output')[0].split('dest=')[1];
execFileSync('tar', ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '-C', folder, '-cf', dest, 'index.json', 'blobs']);
`;

const REGISTRY = 'ghcr.io/example/curbcut';
type Values = { image: { registry: string } } & Record<'api' | 'operator', { image: { digest: string } }>;

describe('make release-dry-run', function () {
  this.timeout(60_000);
  let folder: string;
  const path = (name: string): string => join(folder, 'curbcut', name);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { cwd: path(''), encoding: 'utf8' });

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-dist-'));
    mkdirSync(join(folder, 'bin'));
    const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
    const needed =
      /^(package|tools\/images$|tools\/release\/|tools\/bundle\/archive|helm\/|images\/|scanner-image\/Dockerfile|LICENSE|CHANGELOG|\.dockerignore|\.gitignore)/;
    for (const name of tracked.filter((one) => needed.test(one))) cpSync(join(ROOT, name), path(name));
    writeFileSync(join(folder, 'bin/builder.mjs'), BUILDER);
    writeFileSync(join(folder, 'bin/docker'), `#!/bin/sh\nexec '${process.execPath}' '${folder}/bin/builder.mjs' "$@"\n`, { mode: 0o755 });
    // The real one bundles the whole command line; test/bundle/ checks it.
    const bundler = `import { mkdirSync, writeFileSync } from 'node:fs';
const out = process.argv[2]!;
mkdirSync(out);
writeFileSync(out + '/curbcut.yaml', process.env.SOURCE_URL ?? 'no address');
for (const name of ['LICENSE', ...(process.env.MORE_FILES?.split(',') ?? [])]) writeFileSync(out + '/' + name, name);
`;
    writeFileSync(path('tools/bundle.ts'), bundler);
    symlinkSync(join(ROOT, 'node_modules'), path('node_modules'));
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '-m', 'First');
  });
  after(() => rmSync(folder, { recursive: true }));

  function release(environment: Record<string, string> = {}) {
    const { status, stderr } = spawnSync(process.execPath, [path('tools/release/dist.ts'), 'service', 'cli'], {
      env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, FOLDER: folder, ...environment },
      encoding: 'utf8',
    });
    return { status, stderr };
  }
  const dist = (name: string): Buffer => readFileSync(path(join('dist', name)));
  const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

  it('writes everything that a release consists of, and the same again', () => {
    const PLATFORMS = 'linux/amd64,linux/arm64';
    const { status, stderr } = release({ PLATFORMS });
    expect(status, stderr).to.equal(0);
    expect(readdirSync(path('dist')).toSorted()).to.deep.equal([
      ...['SHA256SUMS', 'chart', 'cli', 'digests.txt', 'images', 'licences.md'],
      ...['provenance.intoto.json', 'release-notes.md', 'sbom'],
    ]);
    expect(readdirSync(path('dist/sbom')).toSorted()).to.deep.equal(
      ['cli', 'service'].flatMap((name) => [`${name}-linux-amd64.cdx.json`, `${name}-linux-arm64.cdx.json`]),
    );
    expect(dist('licences.md').toString()).to.include('| npm | pino | 1.0.0 | MIT | cli, service |');
    expect(readdirSync(path('dist/cli')).toSorted()).to.deep.equal(['LICENSE', 'curbcut.yaml']);
    expect(stderr).to.match(/service linux\/arm64: \d+\.\d MB compressed/);

    const sums = dist('SHA256SUMS').toString();
    for (const line of sums.trimEnd().split('\n')) {
      const [sum, name] = line.split('  ');
      expect(sha256(dist(name!)), name).to.equal(sum);
    }
    const { subject } = JSON.parse(dist('provenance.intoto.json').toString()) as {
      subject: { name: string; digest: { sha256: string } }[];
    };
    const index = JSON.parse(execFileSync('tar', ['-xOf', path('dist/images/service.tar'), 'index.json'], { encoding: 'utf8' })) as {
      manifests: { digest: string }[];
    };
    expect(subject.find(({ name }) => name === 'image:service')?.digest.sha256).to.equal(index.manifests[0]!.digest.slice(7));
    expect(dist('digests.txt').toString()).to.include(`service ${index.manifests[0]!.digest}\n`);
    expect(subject.find(({ name }) => name === 'LICENSE')?.digest.sha256).to.equal(sha256(dist('cli/LICENSE')));
    // By the names on the page of the release, which has no folders and no images.
    expect(new Set(subject.map(({ name }) => name)).size).to.equal(subject.length);
    expect(subject.map(({ name }) => name)).to.include.members([`curbcut-${VERSION}.tgz`, 'curbcut.yaml', 'cli-linux-amd64.cdx.json']);
    expect(subject.filter(({ name }) => name.includes('/') || name.endsWith('.tar'))).to.deep.equal([]);

    release({ PLATFORMS });
    expect(dist('SHA256SUMS').toString()).to.equal(sums);
  });

  it('packs the chart as helm does', () => {
    const tar = gunzipSync(dist(`chart/curbcut-${VERSION}.tgz`));
    const names = execFileSync('tar', ['-tf', '-'], { input: tar, encoding: 'utf8' }).trimEnd().split('\n');
    const tracked = git('ls-files', 'helm').trimEnd().split('\n');
    expect(names.toSorted()).to.deep.equal(tracked.map((name) => name.replace(/^helm\//, 'curbcut/')).toSorted());
    const chart = execFileSync('tar', ['-xOf', '-', 'curbcut/Chart.yaml'], { input: tar, encoding: 'utf8' });
    expect(chart).to.include(`\nversion: ${VERSION}\n`);
    const values = execFileSync('tar', ['-xOf', '-', 'curbcut/values.yaml'], { input: tar, encoding: 'utf8' });
    expect(values).to.equal(readFileSync(path('helm/values.yaml'), 'utf8'));
  });

  it('says what keeps it from being a release, and then refuses to be one', () => {
    const problems = [
      'images/node-image has no digest',
      `the commit has no tag v${VERSION}`,
      'SOURCE_URL is not set',
      'REGISTRY is not set: the chart names images of curbcut.dev by their tags',
    ];
    const dry = release();
    for (const problem of problems) expect(dry.stderr).to.include(`release: a dry run, because ${problem}`);
    expect(dry.stderr).to.include('nothing is signed');

    writeFileSync(path('LICENSE'), 'changed');
    const refused = release({ RELEASE: 'true' });
    expect(refused.status).to.equal(1);
    for (const problem of ['files differ from the commit', ...problems]) expect(refused.stderr).to.include(problem);
    git('checkout', '--quiet', 'LICENSE');
  });

  it('is a release with a pinned base on the commit of the tag', () => {
    writeFileSync(path('images/node-image'), `docker.io/library/node:24-bookworm-slim@${DIGEST}\n`);
    git('commit', '--quiet', '-am', 'Pin');
    git('tag', `v${VERSION}`);
    const source = 'https://git.example.com/curbcut';
    const run = { GITHUB_ACTIONS: 'true', GITHUB_RUN_ID: '7', GITHUB_REF: `refs/tags/v${VERSION}`, SOURCE_URL: source, REGISTRY };
    const { status, stderr } = release({ RELEASE: 'true', ...run });
    expect(status, stderr).to.equal(0);
    expect(dist('cli/curbcut.yaml').toString()).to.equal(source);
    const tar = gunzipSync(dist(`chart/curbcut-${VERSION}.tgz`));
    const values = parse(execFileSync('tar', ['-xOf', '-', 'curbcut/values.yaml'], { input: tar, encoding: 'utf8' })) as Values;
    const [, digest] = /^service (sha256:\w+)$/m.exec(dist('digests.txt').toString())!;
    expect(values.image.registry).to.equal(REGISTRY);
    expect([values.api.image.digest, values.operator.image.digest]).to.deep.equal([digest, digest]);
    const tracked = parse(readFileSync(path('helm/values.yaml'), 'utf8')) as Values;
    for (const part of ['api', 'operator'] as const) tracked[part].image.digest = digest!;
    expect(values).to.deep.equal({ ...tracked, image: { ...tracked.image, registry: REGISTRY } });
    expect(stderr).to.not.include('dry run').and.not.include('nothing is signed');
    expect(dist('provenance.intoto.json').toString()).to.include(`${source}/.github/workflows/release.yaml@refs/tags/v${VERSION}`);
  });

  it('refuses two files with the same name, because the page of the release has no folders', () => {
    const { status, stderr } = release({ MORE_FILES: 'licences.md' });
    expect([status, stderr.includes('must have different names: cli/licences.md and licences.md\n')]).to.deep.equal([1, true]);
  });

  it('refuses images that lack a platform', () => {
    const { status, stderr } = release({ PLATFORMS: 'linux/amd64,linux/arm64', BUILT: 'linux/arm64' });
    expect([status, stderr.includes('cli is for linux/arm64, not for linux/amd64, linux/arm64')]).to.deep.equal([1, true]);
  });

  it('refuses images with other labels, and images that run as root', () => {
    const other = release({ OTHER_LABELS: '{"org.opencontainers.image.version": "9.9.9"}' });
    expect([other.status, other.stderr.includes(`cli (linux/amd64) has the version 9.9.9, not ${VERSION}`)]).to.deep.equal([1, true]);
    const root = release({ USER_OF_IMAGE: '' });
    expect([root.status, root.stderr.includes('cli (linux/amd64) runs as root')]).to.deep.equal([1, true]);
  });

  it('refuses different versions', () => {
    const chart = readFileSync(path('helm/Chart.yaml'), 'utf8');
    writeFileSync(path('helm/Chart.yaml'), chart.replace(`\nversion: ${VERSION}`, '\nversion: 9.9.9'));
    const { status, stderr } = release();
    expect(status).to.equal(1);
    expect(stderr).to.match(new RegExp(`release: not ${VERSION.replaceAll('.', '\\.')}: helm/Chart\\.yaml:\\d+ \\(9\\.9\\.9\\)`));
  });
});
