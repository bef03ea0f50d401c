/** Folders of test cases that can be used, and what is said about others. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readCaseFolder } from './cases.ts';

const ENTRY = {
  ruleId: '23a2a8',
  ruleName: 'Image has non-empty accessible name',
  rulePage: 'https://example.org/rules/23a2a8/',
  ruleAccessibilityRequirements: null,
  expected: 'failed',
  testcaseId: '1',
  testcaseTitle: 'Failed Example 1',
  relativePath: 'testcases/23a2a8/1.html',
  url: 'https://example.org/act/testcases/23a2a8/1.html',
};

describe('a folder of test cases', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'curbcut-act-'));
    mkdirSync(join(dir, 'testcases', '23a2a8'), { recursive: true });
    writeFileSync(join(dir, ENTRY.relativePath), '<img src="a.png">');
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const read = (testcases: unknown) => {
    writeFileSync(join(dir, 'testcases.json'), JSON.stringify({ testcases }));
    return readCaseFolder(dir);
  };

  it('is read with the path that its cases refer to', () => {
    const { cases, basePath, sha256, commit } = read([{ ...ENTRY, other: true }]);
    expect([cases.length, basePath, sha256.length, commit]).to.deep.equal([1, '/act/', 64, null]);
  });

  const wrong: [string, unknown, RegExp][] = [
    ['has no cases', [], /testcases\.json is not a list of test cases: \/testcases/],
    ['has an unknown outcome', [{ ...ENTRY, expected: 'untested' }], /\/testcases\/0\/expected/],
    [
      'lacks a page',
      [ENTRY, { ...ENTRY, relativePath: 'testcases/23a2a8/2.html' }],
      /lacks 1 of 2 cases, such as testcases\/23a2a8\/2\.html/,
    ],
    ['has an address elsewhere', [{ ...ENTRY, url: 'https://example.org/1.html' }], /does not end with testcases\/23a2a8\/1\.html/],
    ['has several addresses', [ENTRY, { ...ENTRY, url: ENTRY.url.replace('act', 'b') }], /below several addresses: \/act\/, \/b\//],
  ];
  for (const [what, testcases, message] of wrong) it(`is refused if it ${what}`, () => expect(() => read(testcases)).to.throw(message));

  it('is refused if its list is not JSON', () => {
    writeFileSync(join(dir, 'testcases.json'), '<html>');
    expect(() => readCaseFolder(dir)).to.throw(/testcases\.json is not JSON: /);
  });

  it('is refused without a list', () =>
    expect(() => readCaseFolder(dir)).to.throw(/has no testcases\.json\. Give a folder in the layout of /));
});
