import { expect } from 'chai';
import { PARTS } from '../cluster/parts.ts';
import { allTestFiles, CLUSTER_ONLY, filesOf, NIGHT_ONLY, SUITES } from './suites.ts';

describe('test suites', () => {
  const suites = new Map(Object.entries(SUITES).map(([name, { files, except }]) => [name, filesOf(files, except)]));
  const onCluster = filesOf(CLUSTER_ONLY);

  it('contain every test file of the repository exactly once', () => {
    const all = allTestFiles();
    expect(all.length).to.be.greaterThan(100);
    const owners = (file: string): string[] => [
      ...[...suites].filter(([, files]) => files.includes(file)).map(([name]) => name),
      ...(onCluster.includes(file) ? ['cluster'] : []),
    ];
    const wrong = all.map((file) => `${file}: ${owners(file).join(', ') || 'no suite'}`).filter((line) => !/: [a-z]+$/.test(line));
    expect(wrong).to.deep.equal([]);
  });

  it('leave to the night only files that exist', () => {
    for (const pattern of NIGHT_ONLY) expect(filesOf([pattern]), pattern).to.have.length.above(0);
  });

  it('run every cluster-only test in one part of make test-cluster', () => {
    const parts = Object.values(PARTS).flatMap(({ files }) => filesOf(files));
    expect(new Set(parts).size).to.equal(parts.length);
    expect(onCluster.filter((file) => !parts.includes(file))).to.deep.equal([]);
  });
});
