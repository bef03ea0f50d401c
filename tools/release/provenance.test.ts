import { expect } from 'chai';
import { licenceTable } from './licences.ts';
import { provenanceOf } from './provenance.ts';

const COMMIT = '1'.repeat(40);
const BUILD = {
  version: '1.2.3',
  revision: COMMIT,
  source: 'https://git.example.com/curbcut',
  base: `docker.io/library/node:24@sha256:${'a'.repeat(64)}`,
  lockFile: { sha256: 'b'.repeat(64) },
  run: { workflow: 'https://git.example.com/curbcut/.github/workflows/release.yaml@refs/tags/v1.2.3', id: '42' },
};

describe('the provenance', () => {
  it('names the commit, the lock file, the base and the run', () => {
    const statement = provenanceOf(BUILD, [{ name: 'LICENSE', digest: { sha256: 'c'.repeat(64) } }]);
    expect(statement).to.nested.include({
      'subject[0].digest.sha256': 'c'.repeat(64),
      predicateType: 'https://slsa.dev/provenance/v1',
      'predicate.buildDefinition.internalParameters.clean': true,
      'predicate.buildDefinition.resolvedDependencies[0].uri': 'git+https://git.example.com/curbcut',
      'predicate.buildDefinition.resolvedDependencies[0].digest.gitCommit': COMMIT,
      'predicate.buildDefinition.resolvedDependencies[1].digest.sha256': 'b'.repeat(64),
      'predicate.buildDefinition.resolvedDependencies[2].uri': 'docker://docker.io/library/node:24',
      'predicate.buildDefinition.resolvedDependencies[2].digest.sha256': 'a'.repeat(64),
      'predicate.runDetails.builder.id': BUILD.run.workflow,
      'predicate.runDetails.metadata.invocationId': '42',
    });
  });

  it('hides neither changed files, nor an unknown base, nor another machine', () => {
    const local = { ...BUILD, revision: `${COMMIT}-dirty`, base: 'docker.io/library/node:24', source: '', run: null };
    const statement = provenanceOf(local, []);
    expect(statement).to.nested.include({
      'predicate.buildDefinition.internalParameters.clean': false,
      'predicate.buildDefinition.resolvedDependencies[0].digest.gitCommit': COMMIT,
      'predicate.runDetails.builder.id': 'https://curbcut.dev/release/unsigned-local-build',
    });
    expect(statement).to.not.have.nested.property('predicate.buildDefinition.resolvedDependencies[2].digest');
    expect(statement).to.not.have.nested.property('predicate.runDetails.metadata');
  });
});

describe('the table of licences', () => {
  const pino = { name: 'pino', version: '1.0.0', purl: 'pkg:npm/pino@1.0.0', licenses: [{ license: { id: 'MIT' } }] };
  const dual = { name: 'dual', version: '2.0.0', purl: 'pkg:npm/dual@2.0.0', licenses: [{ expression: '(MIT OR Apache-2.0)' }] };
  const libc = { name: 'libc6', version: '2.36', purl: 'pkg:deb/debian/libc6@2.36' };
  const arm = { name: 'arm', version: '3.0.0', purl: 'pkg:npm/arm@3.0.0', licenses: [{ expression: 'ISC' }] };
  const own = { name: '@curbcut/core', version: '1.2.3', purl: 'pkg:npm/%40curbcut/core@1.2.3' };

  it('lists each package of each platform once, with the images that hold it', () => {
    const table = licenceTable({
      cli: [{ components: [pino, libc, own] }],
      service: [{ components: [dual, pino, pino] }, { components: [arm, pino] }],
    });
    expect(
      table
        .split('\n')
        .filter((line) => line.startsWith('| '))
        .slice(1),
    ).to.deep.equal([
      '| Debian | libc6 | 2.36 | see /usr/share/doc in the image | cli |',
      '| npm | arm | 3.0.0 | ISC | service |',
      '| npm | dual | 2.0.0 | (MIT OR Apache-2.0) | service |',
      '| npm | pino | 1.0.0 | MIT | cli, service |',
    ]);
  });
});
