/** The version has one owner, package.json of the root; CHANGELOG.md has its notes. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { notesOf, problemsOf } from '../../tools/release/changelog.ts';
import { setVersion, statedVersions, versionOf } from '../../tools/release/version.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const VERSION = versionOf(ROOT);

const tracked = (): string[] => execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean);

describe('the version', () => {
  it('is set everywhere by one command, which cuts the changelog', () => {
    const copy = mkdtempSync(join(tmpdir(), 'curbcut-version-'));
    try {
      for (const path of tracked().filter((name) => /\.(ya?ml|json|md)$|Jenkinsfile$/.test(name)))
        cpSync(join(ROOT, path), join(copy, path), { recursive: true });
      const changelog = readFileSync(join(copy, 'CHANGELOG.md'), 'utf8');
      const changed = changelog.replace(/(?<=^## \[Unreleased\]\n)[^]*?(?=^## \[)/m, '\n### Fixed\n\n- A fault.\n\n');
      writeFileSync(join(copy, 'CHANGELOG.md'), changed);

      setVersion(copy, '9.8.7-rc.1', '2030-01-02', false);

      const places = (root: string) => statedVersions(root).map(({ where }) => where);
      expect([...new Set(statedVersions(copy).map(({ version }) => version))]).to.deep.equal(['9.8.7-rc.1']);
      expect(places(copy)).to.deep.equal(places(ROOT));
      expect(notesOf(readFileSync(join(copy, 'CHANGELOG.md'), 'utf8'), '9.8.7-rc.1')).to.equal('### Fixed\n\n- A fault.\n');
      expect(() => setVersion(copy, 'v9.9.9', '2030-01-03', false)).to.throw('v9.9.9 is no version: use X.Y.Z');
      // Nothing changes if the changelog has nothing to release.
      expect(() => setVersion(copy, '9.9.9', '2030-01-03', false)).to.throw('has no changes below');
      expect(versionOf(copy)).to.equal('9.8.7-rc.1');
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
});

describe('CHANGELOG.md', () => {
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');

  it('has the form of Keep a Changelog', () => expect(problemsOf(changelog)).to.deep.equal([]));
  it('has notes for the version', () => expect(notesOf(changelog, VERSION)).to.include('### Added'));
});
