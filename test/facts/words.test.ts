import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { LOCALES } from '../../core/scan/locales.ts';
import { WORDS } from '../../report/words/words.ts';

const ROOT = join(import.meta.dirname, '../..');
/** What makes pages, mails and the PDF. */
const SOURCES = globSync(['api/**/*.ts', 'scanner-image/**/*.ts'], { cwd: ROOT }).filter(
  (path) => !path.endsWith('.test.ts') && !path.includes('node_modules'),
);

describe('the words of a report', () => {
  it('for severities and verdicts are written in the catalogue only', () => {
    const words = LOCALES.flatMap((locale) => {
      const { severities, severitiesShort, passed, notPassed, noThresholds } = WORDS[locale].report;
      return [...Object.values(severities), ...Object.values(severitiesShort), passed, notPassed, noThresholds];
    });
    const text = new RegExp(`(['"\`>])(${words.join('|').replaceAll('.', '\\.')})(['"\`<])`, 'u');
    expect(SOURCES).to.have.length.above(100);
    const again = SOURCES.filter((path) => text.test(readFileSync(join(ROOT, path), 'utf8')));
    expect(again).to.deep.equal([]);
  });
});
