import { expect } from 'chai';
import { PARTS } from '../cluster/parts.ts';
import { allTestFiles, CLUSTER_ONLY, filesOf, NIGHT_ONLY, sharesOf, SUITES } from './suites.ts';

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

  it('are not empty', () => {
    expect([...suites].filter(([, files]) => files.length === 0).map(([name]) => name)).to.deep.equal([]);
  });

  it('are dealt out to their processes, those of a suite spread over the run', () => {
    const suites = [
      { name: 'a', files: ['1', '2', '3'], processes: 2 },
      { name: 'b', files: ['4'] },
      { name: 'c', files: [] },
    ];
    expect(sharesOf(suites)).to.deep.equal([
      { suite: 'a', files: ['1', '3'] },
      { suite: 'b', files: ['4'] },
      { suite: 'a', files: ['2'] },
    ]);
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
