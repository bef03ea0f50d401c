/** Reads and changes CHANGELOG.md, which has the form of Keep a Changelog 1.1. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const UNRELEASED = '## [Unreleased]';
const GROUPS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];

/**
 * Turns the unreleased changes into the release of a version. One that is described and has no tag yet gets the date.
 * @throws Error if there are no changes, or the version is released
 */
export function cutRelease(changelog: string, version: string, date: string, isTagged: boolean): string {
  const described = sectionOf(changelog, `## [${version}]`) !== null;
  if (described && isTagged) throw new Error(`CHANGELOG.md has a release ${version} already`);
  const changes = sectionOf(changelog, UNRELEASED);
  if (described) {
    if (changes) throw new Error(`CHANGELOG.md describes ${version}, and has changes below "${UNRELEASED}": move them there`);
    const heading = `## [${version}] - `;
    return changelog.split('\n').map((line) => (line.startsWith(heading) ? heading + date : line)).join('\n'); // prettier-ignore
  }
  if (changes === null || changes === '') throw new Error(`CHANGELOG.md has no changes below "${UNRELEASED}": describe what users get`);
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n\n## [${version}] - ${date}`);
}

/** The notes of a version's release. @throws Error if there are none */
export function notesOf(changelog: string, version: string): string {
  const notes = sectionOf(changelog, `## [${version}]`);
  if (notes === null || notes === '') throw new Error(`CHANGELOG.md has no changes below "## [${version}] - YYYY-MM-DD"`);
  return `${notes}\n`;
}

/** What is wrong with the form of a changelog, for people who fix it. */
export function problemsOf(changelog: string): string[] {
  const headings = changelog.split('\n').filter((line) => /^#{2,3} /.test(line));
  const releases = headings.filter((line) => line.startsWith('## '));
  return [
    ...(releases[0] === UNRELEASED ? [] : [`the first release must be "${UNRELEASED}"`]),
    ...releases
      .filter((line) => line !== UNRELEASED && !/^## \[\d+\.\d+\.\d+(-[\w.-]+)?\] - \d{4}-\d\d-\d\d$/.test(line))
      .map((line) => `"${line}" must be "## [X.Y.Z] - YYYY-MM-DD"`),
    ...headings
      .filter((line) => line.startsWith('### ') && !GROUPS.includes(line.slice(4)))
      .map((line) => `"${line}" must be one of ${GROUPS.join(', ')}`),
  ];
}

/** The text between a heading of the second level and the next one. Null if there is no such heading. */
function sectionOf(changelog: string, heading: string): string | null {
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => line === heading || line.startsWith(`${heading} `));
  if (start === -1) return null;
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith('## '));
  return lines
    .slice(start + 1, length === -1 ? undefined : start + 1 + length)
    .join('\n')
    .trim();
}

// Prints the notes of a version: node tools/release/changelog.ts X.Y.Z
if (import.meta.main) {
  const [version = ''] = process.argv.slice(2);
  process.stdout.write(notesOf(readFileSync(join(import.meta.dirname, '..', '..', 'CHANGELOG.md'), 'utf8'), version));
}
