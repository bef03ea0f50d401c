/** Every code of an error body is in the one table, `ERRORS`, and so in docs/reference.md. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ERRORS } from '../../api/http/errors.ts';

const root = join(import.meta.dirname, '..', '..');
const SOURCES = globSync('{api,core,report,platform,stores,operator}/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));

/** The codes that the text of a file puts into error bodies. */
function codesIn(text: string): string[] {
  return [/new ApiError\(\s*'(\w+)'/g, /\bdetail: '(\w+)'/g, /answerOnSocket\(\w+, '(\w+)'/g].flatMap((pattern) =>
    [...text.matchAll(pattern)].map((match) => match[1]!),
  );
}

describe('error codes', () => {
  it('are all in the table', () => {
    const used = SOURCES.flatMap((file) => codesIn(readFileSync(join(root, file), 'utf8')).map((code) => ({ file, code })));
    expect(used.map(({ code }) => code)).to.include.members(['too_many_streams', 'streams_full', 'method_not_allowed']);
    expect(used.filter(({ code }) => !Object.hasOwn(ERRORS, code))).to.deep.equal([]);
  });

  it('are all in docs/reference.md', () => {
    const page = readFileSync(join(root, 'docs/reference.md'), 'utf8');
    expect(Object.keys(ERRORS).filter((code) => !page.includes(`\`${code}\``))).to.deep.equal([]);
  });
});
