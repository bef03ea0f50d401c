/** tools/release/publish, with programs that print how they were called instead of publishing. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';

const [SERVICE, SCANNER] = ['a'.repeat(64), 'b'.repeat(64)];

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
    write('dist/provenance.intoto.json', '{"predicate": {"buildDefinition": {}}}');
    write('dist/digests.txt', `scanner sha256:${SCANNER}\nservice sha256:${SERVICE}\n`);
    const sum = createHash('sha256').update('service').digest('hex');
    write('dist/SHA256SUMS', `${sum}  images/service.tar\n`);
    // Like the real ones, they read their input if they are given any.
    for (const name of ['skopeo', 'cosign', 'helm', 'npm', 'gh'])
      write(`bin/${name}`, `#!/bin/sh\ncat >/dev/null\necho "${name} $*" >>"${folder}/calls"\n${name === 'skopeo' ? SKOPEO : ''}`);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Knows no image, and a chart. */
  const SKOPEO = 'case "$*" in "inspect --raw"*) exit 1 ;; inspect*) echo sha256:cccc ;; esac\n';

  function setVersion(version: string): void {
    write('package.json', `{\n  "version": "${version}",\n}\n`);
    write(`dist/chart/curbcut-${version}.tgz`, '');
    write(`dist/cli/curbcut-${version}.tgz`, '');
  }

  function publish() {
    const { status, stderr } = spawnSync(join(folder, 'tools/release/publish'), ['ghcr.io/example/curbcut'], {
      env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}` },
      encoding: 'utf8',
    });
    let calls: string[] = [];
    try {
      calls = readFileSync(join(folder, 'calls'), 'utf8').trimEnd().split('\n');
    } catch {
      // Nothing was called.
    }
    return { status, stderr, calls: calls.map((call) => call.replace(/\/tmp\/tmp\.\w+/, 'PREDICATE')) };
  }

  it('pushes and signs what was built, and publishes the page last', () => {
    const { status, stderr, calls } = publish();
    expect([status, stderr]).to.deep.equal([0, '']);
    const image = `ghcr.io/example/curbcut/service@sha256:${SERVICE}`;
    expect(calls.filter((call) => call.includes('/service'))).to.deep.equal([
      'skopeo inspect --raw docker://ghcr.io/example/curbcut/service:1.2.3',
      'skopeo copy --all --preserve-digests oci-archive:dist/images/service.tar docker://ghcr.io/example/curbcut/service:1.2.3',
      `cosign sign --yes --recursive ${image}`,
      `cosign attest --yes --type slsaprovenance1 --predicate PREDICATE ${image}`,
      `cosign attest --yes --type cyclonedx --predicate dist/sbom/service-linux-amd64.cdx.json ${image}`,
      `cosign attest --yes --type cyclonedx --predicate dist/sbom/service-linux-arm64.cdx.json ${image}`,
      calls.at(-1)!,
    ]);
    expect(calls).to.include.members([
      'helm push dist/chart/curbcut-1.2.3.tgz oci://ghcr.io/example/curbcut/charts',
      'cosign sign --yes ghcr.io/example/curbcut/charts/curbcut@sha256:cccc',
      'npm publish --provenance --access public --tag latest dist/cli/curbcut-1.2.3.tgz',
      'cosign sign-blob --yes --bundle dist/SHA256SUMS.sigstore.json dist/SHA256SUMS',
    ]);
    expect(calls.at(-1))
      .to.match(/^gh release create v1\.2\.3 --verify-tag --title Curbcut 1\.2\.3 --notes-file dist\/release-notes\.md --latest /)
      .and.include('dist/SHA256SUMS dist/')
      .and.not.include('dist/images/');
  });

  it('never replaces a version', () => {
    write('bin/skopeo', `#!/bin/sh\necho "skopeo $*" >>"${folder}/calls"\n`);
    const { status, stderr, calls } = publish();
    expect([status, stderr]).to.deep.equal([1, 'publish: ghcr.io/example/curbcut/scanner:1.2.3 exists already\n']);
    expect(calls).to.have.length(1);
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
    expect(calls).to.include('npm publish --provenance --access public --tag next dist/cli/curbcut-1.3.0-rc.1.tgz');
    expect(calls.at(-1)).to.include(' --prerelease ');
  });
});
