import { expect } from 'chai';
import { cutRelease, notesOf, problemsOf } from './changelog.ts';

const CHANGELOG = `# Changelog

## [Unreleased]

### Fixed

- A crash.

## [1.0.0] - 2026-01-02

### Added

- Everything.
`;

describe('the changelog', () => {
  it('turns unreleased changes into a release, and starts a new list', () => {
    const cut = cutRelease(CHANGELOG, '1.1.0', '2026-03-04', false);
    expect(problemsOf(cut)).to.deep.equal([]);
    expect(notesOf(cut, '1.1.0')).to.equal('### Fixed\n\n- A crash.\n');
    expect(notesOf(cut, '1.0.0')).to.equal('### Added\n\n- Everything.\n');
    expect(() => cutRelease(cut, '1.2.0', '2026-03-05', false)).to.throw('no changes below "## [Unreleased]"');
  });

  it('refuses a second release of a version, and notes of an unknown one', () => {
    expect(() => cutRelease(CHANGELOG, '1.0.0', '2026-03-04', true)).to.throw('has a release 1.0.0 already');
    expect(() => notesOf(CHANGELOG, '1.0')).to.throw('no changes below "## [1.0] - YYYY-MM-DD"');
  });

  it('dates a release that is described and has no tag yet, such as the first one', () => {
    const first = CHANGELOG.replace('### Fixed\n\n- A crash.\n\n', '');
    expect(cutRelease(first, '1.0.0', '2026-03-04', false)).to.equal(first.replace('2026-01-02', '2026-03-04'));
    expect(() => cutRelease(CHANGELOG, '1.0.0', '2026-03-04', false)).to.throw('move them there');
  });

  it('says what is wrong with its form', () => {
    const wrong = CHANGELOG.replace('## [Unreleased]\n', '').replace('2026-01-02', 'soon').replace('### Added', '### News');
    expect(problemsOf(wrong)).to.deep.equal([
      'the first release must be "## [Unreleased]"',
      '"## [1.0.0] - soon" must be "## [X.Y.Z] - YYYY-MM-DD"',
      '"### News" must be one of Added, Changed, Deprecated, Removed, Fixed, Security',
    ]);
  });
});
