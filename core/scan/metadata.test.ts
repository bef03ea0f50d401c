import { Compile } from 'typebox/compile';
import { expect } from 'chai';
import { Metadata as Schema } from './metadata-schema.ts';
import {
  METADATA_MAX,
  METADATA_VALUE_MAX,
  metadataLine,
  metadataMistake,
  orderedMetadata,
  pairText,
  readPair,
  versionText,
  type Metadata,
} from './metadata.ts';

const schema = Compile(Schema);
const pairs = (count: number): Metadata => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));

/** ASCII, because test output must not carry control characters. */
const shown = (metadata: Metadata): string => encodeURI(JSON.stringify(metadata).toWellFormed()).slice(0, 60);

describe('metadata of scans', () => {
  const allowed: Metadata[] = [
    {},
    { branch: 'feature/a=b#1 with spaces' },
    { 'a.b_c-D9': 'ünïcödé 😀', x: '.', ['k'.repeat(63)]: '😀'.repeat(METADATA_VALUE_MAX) },
    pairs(METADATA_MAX),
  ];
  for (const metadata of allowed)
    it(`allows ${shown(metadata)}`, () => {
      expect(metadataMistake(metadata)).to.equal(null);
      expect(schema.Check(metadata)).to.equal(true);
    });

  const refused: [Metadata, RegExp][] = [
    [pairs(METADATA_MAX + 1), /^A scan has at most 10 pairs of metadata, and 11 are given\.$/],
    [{ '': 'v' }, /^The metadata key "" must have 1 to 63 letters/],
    [{ 'acme.dev/branch': 'v' }, /^The metadata key "acme.dev\/branch" must have/],
    [{ '-a': 'v' }, /must have 1 to 63/],
    [{ 'a=b': 'v' }, /must have 1 to 63/],
    [{ ['k'.repeat(64)]: 'v' }, /must have 1 to 63/],
    [{ a: '' }, /^The metadata value of a must have 1 to 256 characters\.$/],
    [{ a: 'v'.repeat(METADATA_VALUE_MAX + 1) }, /must have 1 to 256 characters/],
    [{ a: ' v' }, /^The metadata value of a must be printable text without a space at either end\.$/],
    [{ a: 'v\n' }, /printable/],
    [{ a: 'v\u001b[31mw' }, /printable/],
    [{ a: 'v\u202ew' }, /printable/],
    [{ a: '\ud800' }, /printable/],
  ];
  for (const [metadata, mistake] of refused)
    it(`refuses ${shown(metadata)}`, () => {
      expect(metadataMistake(metadata)).to.match(mistake);
      expect(schema.Check(metadata)).to.equal(false);
    });

  it('reads and writes pairs as KEY=VALUE', () => {
    expect(readPair('branch=a=b')).to.deep.equal(['branch', 'a=b']);
    expect(pairText(['branch', 'a=b'])).to.equal('branch=a=b');
    expect(readPair('branch')).to.equal(null);
  });

  it('shows well-known keys first, and the others by name', () => {
    const metadata = { zone: 'b', build_url: 'u', area: 'a', branch: 'main', commit: 'c' };
    expect(orderedMetadata(metadata).map(([key]) => key)).to.deep.equal(['commit', 'branch', 'build_url', 'area', 'zone']);
  });

  it('writes all pairs in one line, with a short commit', () => {
    const metadata = { team: 'web', commit: '0123456789abcdef0123456789abcdef01234567', branch: 'main' };
    expect(metadataLine(metadata)).to.equal('commit: 01234567  ·  branch: main  ·  team: web');
  });

  it('names the version by branch or pull request, and the short commit', () => {
    const commit = '0123456789abcdef0123456789abcdef01234567';
    expect(versionText({ commit, branch: 'main', pull_request: '7' })).to.equal('main 01234567');
    expect(versionText({ commit: 'v1.2.3', pull_request: '7' })).to.equal('#7 v1.2.3');
    expect(versionText({ team: 'web' })).to.equal('');
  });
});
