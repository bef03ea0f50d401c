/** tools/release/publish, with programs that print how they were called instead of publishing. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect } from 'chai';

const REGISTRY = 'ghcr.io/example/curbcut';
const hash = (algorithm: string, content: string | Buffer) => createHash(algorithm).update(content);
const sha256 = (content: string | Buffer): string => hash('sha256', content).digest('hex');
/** What a registry answers for an image: its digest is that of this text. */
const manifestOf = (name: string): string => `manifest of ${name}`;
const [SERVICE, SCANNER] = ['service', 'scanner'].map((name) => sha256(manifestOf(name)));

describe('tools/release/publish', () => {
  let folder: string;
  const write = (path: string, text: string): void => writeFileSync(join(folder, path), text, { mode: 0o755 });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-publish-'));
    for (const path of ['bin', 'dist/images', 'dist/sbom', 'dist/chart', 'dist/cli', 'tools/release'])
      mkdirSync(join(folder, path), { recursive: true });
    cpSync(join(import.meta.dirname, 'publish'), join(folder, 'tools/release/publish'));
    setVersion('1.2.3');
    for (const name of ['service', 'scanner']) {
      write(`dist/images/${name}.tar`, name);
      for (const arch of ['amd64', 'arm64']) write(`dist/sbom/${name}-linux-${arch}.cdx.json`, '{}');
    }
    write('dist/digests.txt', `scanner sha256:${SCANNER}\nservice sha256:${SERVICE}\n`);
    for (const name of ['skopeo', 'cosign', 'helm', 'npm', 'gh']) write(`bin/${name}`, REMOTE.replaceAll('PROGRAM', name));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /**
   * A program that works with what is published: files in remote/, by the last part of their names. Like the real ones, it reads its
   * input if it is given any. With a file `down`, nothing answers.
   */
  const REMOTE = `#!/bin/bash
cat >/dev/null
cd "\${0%/*}/.." && mkdir -p remote
echo "PROGRAM $*" >>calls
name=\${!#} name=\${name##*/}
answer() { # file, error
  if [ -e down ]; then echo 'dial tcp: i/o timeout' >&2; exit 1; fi
  if [ -e "remote/$1" ]; then cat "remote/$1"; else echo "$2" >&2; exit 1; fi
}
case "PROGRAM $*" in
  'skopeo inspect'*) answer "$name" "reading manifest: \${MISSING:-manifest unknown}" ;;
  'skopeo copy'*) printf 'manifest of %s' "\${name%:*}" >"remote/$name" ;;
  'helm push'*) echo "sha256:\$(sha256sum <"$2")" >"remote/\$(basename "$2" .tgz | sed 's,-,:,')" ;;
  'npm view'*) answer npm 'npm error code E404' ;;
  'gh release view'*) answer draft 'release not found' ;;
  'gh release download'*) cp remote/SHA256SUMS "$7" ;;
  'gh release create'*) cp "\${@:10:2}" . ;;
esac
`;

  function setVersion(version: string): void {
    rmSync(join(folder, 'dist/chart'), { recursive: true });
    mkdirSync(join(folder, 'dist/chart'));
    write('package.json', `{\n  "version": "${version}",\n}\n`);
    mkdirSync(join(folder, 'curbcut'), { recursive: true });
    write('curbcut/values.yaml', `image:\n  registry: ${REGISTRY}\n`);
    execFileSync('tar', ['-czf', `dist/chart/curbcut-${version}.tgz`, 'curbcut'], { cwd: folder });
    write(`dist/cli/curbcut-npm-${version}.tgz`, 'npm');
    const files = [`chart/curbcut-${version}.tgz`, `cli/curbcut-npm-${version}.tgz`, 'images/service.tar', 'provenance.intoto.json'];
    write('dist/provenance.intoto.json', '{"predicate": {"buildDefinition": {}}}');
    write('dist/images/service.tar', 'service');
    write('dist/SHA256SUMS', files.map((file) => `${sha256(readFileSync(join(folder, 'dist', file)))}  ${file}\n`).join(''));
  }

  function publish(environment: Record<string, string> = {}) {
    rmSync(join(folder, 'calls'), { force: true });
    const { status, stderr } = spawnSync(join(folder, 'tools/release/publish'), [REGISTRY], {
      env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, NODE_AUTH_TOKEN: 'token', ...environment },
      encoding: 'utf8',
    });
    let calls: string[] = [];
    try {
      calls = readFileSync(join(folder, 'calls'), 'utf8').trimEnd().split('\n');
    } catch {
      // Nothing was called.
    }
    return { status, stderr, calls: calls.map((call) => call.replaceAll(/\/tmp\/tmp\.\w+/g, 'TEMP')) };
  }

  it('pushes and signs what was built, and publishes the page last', () => {
    const { status, stderr, calls } = publish();
    expect([status, stderr]).to.deep.equal([0, '']);
    const image = `ghcr.io/example/curbcut/service@sha256:${SERVICE}`;
    expect(calls.filter((call) => /^(skopeo|cosign) .*\/service/.test(call))).to.deep.equal([
      'skopeo inspect --raw docker://ghcr.io/example/curbcut/service:1.2.3',
      'skopeo copy --all --preserve-digests oci-archive:dist/images/service.tar docker://ghcr.io/example/curbcut/service:1.2.3',
      `cosign sign --yes --recursive ${image}`,
      `cosign attest --yes --type slsaprovenance1 --predicate TEMP/predicate ${image}`,
      `cosign attest --yes --type cyclonedx --predicate dist/sbom/service-linux-amd64.cdx.json ${image}`,
      `cosign attest --yes --type cyclonedx --predicate dist/sbom/service-linux-arm64.cdx.json ${image}`,
    ]);
    expect(calls).to.include.members([
      'helm push dist/chart/curbcut-1.2.3.tgz oci://ghcr.io/example/curbcut/charts',
      'npm publish --provenance --access public --tag latest ./dist/cli/curbcut-npm-1.2.3.tgz',
      'cosign sign-blob --yes --bundle TEMP/page/SHA256SUMS.sigstore.json TEMP/page/SHA256SUMS',
    ]);
    expect(calls.some((call) => /^cosign sign --yes ghcr\.io\/example\/curbcut\/charts\/curbcut@sha256:[0-9a-f]{64}$/.test(call))).to.equal(
      true,
    );
    expect(calls.at(-1))
      .to.match(/^gh release create v1\.2\.3 --verify-tag --title Curbcut 1\.2\.3 --notes-file dist\/release-notes\.md --latest /)
      .and.include(' TEMP/page/SHA256SUMS ')
      .and.not.include('dist/images/');
  });

  it('puts files with different names on the page, and checksums that can be checked beside them', () => {
    const { calls } = publish();
    const files = calls
      .at(-1)!
      .split(' ')
      .slice(calls.at(-1)!.split(' ').indexOf('--latest') + 1);
    const names = files.map((file) => basename(file));
    expect(new Set(names).size).to.equal(names.length);
    const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split('  '));
    expect(sums.map(([, name]) => name)).to.deep.equal(['curbcut-1.2.3.tgz', 'curbcut-npm-1.2.3.tgz', 'provenance.intoto.json']);
    for (const [sum, name] of sums) {
      const file = files.find((one) => basename(one) === name)!;
      expect(sum, name).to.equal(sha256(readFileSync(file.startsWith('dist/') ? join(folder, file) : join(folder, name!))));
    }
  });

  /** What changes something for others. */
  const changes = (calls: readonly string[]): string[] =>
    calls
      .filter((call) => /^(skopeo copy|helm push|npm publish|gh release (create|delete))/.test(call))
      .map((call) => call.split(' ').slice(0, 2).join(' '));

  it('goes on after a failure, and leaves what is published as it is', () => {
    write('bin/npm', `${REMOTE.replaceAll('PROGRAM', 'npm')}case $1 in publish) exit 1 ;; esac\n`);
    expect(publish()).to.include({ status: 1 });
    write('bin/npm', REMOTE.replaceAll('PROGRAM', 'npm'));
    const { status, stderr, calls } = publish();
    expect(status, stderr).to.equal(0);
    expect(stderr).to.equal(['scanner', 'service', 'the chart'].map((name) => `publish: ${name} is published already\n`).join(''));
    expect(changes(calls)).to.deep.equal(['npm publish', 'gh release']);
    // The signatures may be missing.
    expect(calls).to.include(`cosign sign --yes --recursive ${REGISTRY}/service@sha256:${SERVICE}`);
  });

  it('has nothing to do if everything is published', () => {
    publish();
    write('remote/npm', `sha512-${hash('sha512', 'npm').digest('base64')}\n`);
    write('remote/draft', 'true\n');
    const draft = publish();
    expect(changes(draft.calls)).to.deep.equal(['gh release', 'gh release']);
    write('remote/draft', 'false\n');
    cpSync(join(folder, 'SHA256SUMS'), join(folder, 'remote/SHA256SUMS'));
    const { status, stderr, calls } = publish();
    expect([status, stderr, changes(calls)]).to.deep.equal([
      0,
      'publish: v1.2.3 is published already\npublish: the npm package is published already\n',
      [],
    ]);
  });

  for (const [file, name] of [
    ['scanner:1.2.3', `${REGISTRY}/scanner:1.2.3`],
    ['curbcut:1.2.3', `${REGISTRY}/charts/curbcut:1.2.3`],
    ['npm', 'curbcut@1.2.3 on npm'],
    ['SHA256SUMS', 'the page of v1.2.3'],
  ] as const)
    it(`never replaces ${name}`, () => {
      mkdirSync(join(folder, 'remote'));
      write(`remote/${file}`, 'other');
      if (file === 'SHA256SUMS') write('remote/draft', 'false\n');
      const { status, stderr, calls } = publish();
      expect([status, stderr]).to.deep.equal([1, `publish: ${name} exists already, with other contents: a version is never replaced\n`]);
      expect(changes(calls)).to.deep.equal([]);
    });

  it('takes only the answer that there is no such version as one', () => {
    write('down', '');
    const { status, stderr, calls } = publish();
    expect([status, stderr]).to.deep.equal([
      1,
      'dial tcp: i/o timeout\npublish: cannot find out what is published: skopeo inspect failed\n',
    ]);
    expect(changes(calls)).to.deep.equal([]);
    rmSync(join(folder, 'down'));
    expect(publish({ MISSING: 'unauthorized: authentication required' })).to.include({ status: 1 });
    expect(publish({ MISSING: 'name unknown: repository name not known to registry' })).to.include({ status: 0 });
  });

  it('leaves out the npm package without a token, and says so', () => {
    const { status, stderr, calls } = publish({ NODE_AUTH_TOKEN: '' });
    expect([status, stderr]).to.deep.equal([0, 'publish: NODE_AUTH_TOKEN is not set: the npm package is not published\n']);
    expect(changes(calls)).to.include('gh release').and.not.include('npm publish');
  });

  it('publishes the npm package after the page, once there is a token', () => {
    publish({ NODE_AUTH_TOKEN: '' });
    write('remote/draft', 'false\n');
    cpSync(join(folder, 'SHA256SUMS'), join(folder, 'remote/SHA256SUMS'));
    const { status, stderr, calls } = publish();
    expect([status, stderr, changes(calls)]).to.deep.equal([0, 'publish: v1.2.3 is published already\n', ['npm publish']]);
  });

  it('publishes no chart that names another registry', () => {
    write('curbcut/values.yaml', 'image:\n  registry: curbcut.dev\n');
    execFileSync('tar', ['-czf', 'dist/chart/curbcut-1.2.3.tgz', 'curbcut'], { cwd: folder });
    write('dist/SHA256SUMS', `${sha256(readFileSync(join(folder, 'dist/images/service.tar')))}  images/service.tar\n`);
    const { status, stderr } = publish();
    expect(status).to.equal(1);
    expect(stderr).to.include(`names another registry than ${REGISTRY}`);
  });

  it('publishes nothing that differs from its checksum', () => {
    write('dist/images/service.tar', 'changed');
    const { status, calls } = publish();
    expect(status).to.equal(1);
    expect(calls).to.deep.equal([]);
  });

  it('keeps a release candidate from those who ask for the latest version', () => {
    setVersion('1.3.0-rc.1');
    const { calls } = publish();
    expect(calls).to.include('npm publish --provenance --access public --tag next ./dist/cli/curbcut-npm-1.3.0-rc.1.tgz');
    expect(calls.at(-1)).to.include(' --prerelease ');
  });
});
