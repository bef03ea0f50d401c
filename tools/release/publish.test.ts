/** tools/release/publish, with programs that print how they were called instead of publishing. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';

const ROOT = join(import.meta.dirname, '..', '..');
const REGISTRY = 'ghcr.io/example/curbcut';
const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('tools/release/publish', () => {
  let folder: string;
  const write = (path: string, text: string): void => writeFileSync(join(folder, path), text, { mode: 0o755 });

  /** A program that notes how it was called; `published/` holds what the registries have. `fails` names a call that fails. */
  const PROGRAM = `#!/bin/bash
echo "PROGRAM $*" >>"$CALLS"
if [ -n "$FAILS" ] && [[ "PROGRAM $*" =~ $FAILS ]]; then echo "\${ERROR:-denied}" >&2; exit 1; fi
case "PROGRAM $*" in
  'git tag'*) echo "\${TAG-v1.2.3}" ;;
  'gh release view'*) [ -n "$RELEASED" ] || { echo 'release not found' >&2; exit 1; } ;;
  'npm view'*) [ -n "$ON_NPM" ] || { echo 'npm error code E404' >&2; exit 1; } ;;
  'helm package'*) mkdir -p dist/chart && cp dist/helm/values.yaml values-of-chart && echo chart >dist/chart/curbcut-1.2.3.tgz ;;
  'helm push'*) echo 'Digest: ${DIGEST}' >&2 ;;
esac
`;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-publish-'));
    for (const path of ['bin', 'tools/release', 'helm']) mkdirSync(join(folder, path), { recursive: true });
    for (const path of ['publish', 'chart.ts', 'changelog.ts'])
      cpSync(join(import.meta.dirname, path), join(folder, 'tools/release', path));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    write('package.json', '{\n  "version": "1.2.3",\n  "type": "module"\n}\n');
    write('CHANGELOG.md', '## [Unreleased]\n\n## [1.2.3] - 2030-01-01\n\n### Added\n\n- All.\n');
    write('helm/values.yaml', 'image:\n  registry: curbcut.dev\napi:\n  image:\n    repository: service\n    digest: ""\n');
    write('tools/node.sh', '');
    write(
      'tools/bundle.ts',
      "import { mkdirSync, writeFileSync } from 'node:fs';\nmkdirSync('dist/cli');\nwriteFileSync('dist/cli/curbcut-npm-1.2.3.tgz', 'npm');\n",
    );
    write('tools/images', `#!/bin/bash\necho "tools/images $*" >>"$CALLS"\necho 'service ${DIGEST}'\n`);
    for (const name of ['git', 'docker', 'grype', 'cosign', 'helm', 'npm', 'gh']) write(`bin/${name}`, PROGRAM.replaceAll('PROGRAM', name));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function publish(environment: Record<string, string> = {}) {
    const CALLS = join(folder, 'calls');
    writeFileSync(CALLS, '');
    const { status, stderr } = spawnSync(join(folder, 'tools/release/publish'), [REGISTRY], {
      env: {
        PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
        CALLS,
        PLATFORMS: 'linux/amd64,linux/arm64',
        NODE_AUTH_TOKEN: 'token',
        ...environment,
      },
      encoding: 'utf8',
    });
    return { status, stderr, calls: readFileSync(CALLS, 'utf8').trimEnd().split('\n') };
  }
  const image = `${REGISTRY}/service@${DIGEST}`;

  it('scans, tags and signs the images, pushes the chart that names them, and publishes the page last', () => {
    const { status, stderr, calls } = publish();
    expect([status, stderr]).to.deep.equal([0, '']);
    const order = [
      `tools/images --push ${REGISTRY}`,
      `grype --platform linux/amd64 registry:${image}`,
      `grype --platform linux/arm64 registry:${image}`,
      `docker buildx imagetools create --tag ${REGISTRY}/service:1.2.3 ${image}`,
      `cosign sign --yes --recursive ${image}`,
      `helm push dist/chart/curbcut-1.2.3.tgz oci://${REGISTRY}/charts`,
      `cosign sign --yes ${REGISTRY}/charts/curbcut@${DIGEST}`,
      'npm publish --provenance --access public --tag latest ./dist/cli/curbcut-npm-1.2.3.tgz',
      'cosign sign-blob --yes --bundle dist/SHA256SUMS.sigstore.json dist/SHA256SUMS',
    ];
    expect(calls.filter((call) => order.includes(call))).to.deep.equal(order);
    expect(calls.at(-1)).to.match(/^gh release create v1\.2\.3 .* --latest dist\/SHA256SUMS .*dist\/sbom\/service\.spdx\.json$/);
    const values = parse(readFileSync(join(folder, 'values-of-chart'), 'utf8')) as unknown;
    expect(values).to.deep.equal({ image: { registry: REGISTRY }, api: { image: { repository: 'service', digest: DIGEST } } });
    const sums = readFileSync(join(folder, 'dist/SHA256SUMS'), 'utf8');
    expect(sums.match(/\S+$/gm)).to.have.members(['curbcut-1.2.3.tgz', 'curbcut-npm-1.2.3.tgz', 'digests.txt', 'service.spdx.json']);
  });

  it('tags, signs and publishes nothing if an image has a severe vulnerability', () => {
    const { status, calls } = publish({ FAILS: '^grype' });
    expect(status).to.equal(1);
    expect(calls.filter((call) => /imagetools create|cosign|push |publish|release create/.test(call))).to.deep.equal([
      `tools/images --push ${REGISTRY}`,
    ]);
  });

  const refused: [string, Record<string, string>, RegExp][] = [
    ['a version that is published', { RELEASED: '1' }, /v1\.2\.3 is published already: set a new version/],
    ['a page that cannot be read', { FAILS: '^gh release view', ERROR: 'i/o timeout' }, /cannot find out what is published: i\/o timeout/],
    ['a commit without the tag', { TAG: '' }, /the commit has no tag v1\.2\.3/],
    ['no platforms', { PLATFORMS: '' }, /set PLATFORMS/],
  ];
  for (const [what, environment, message] of refused)
    it(`refuses ${what}, and builds nothing`, () => {
      const { status, stderr, calls } = publish(environment);
      expect(status).to.equal(1);
      expect(stderr).to.match(message);
      expect(calls.filter((call) => call.startsWith('tools/images'))).to.deep.equal([]);
    });

  it('leaves out an npm package that is published, or that it has no token for', () => {
    for (const environment of [{ ON_NPM: '1' }, { NODE_AUTH_TOKEN: '' }] as Record<string, string>[]) {
      const { status, calls } = publish(environment);
      expect(status).to.equal(0);
      expect(calls.filter((call) => call.startsWith('npm publish'))).to.deep.equal([]);
    }
  });
});
