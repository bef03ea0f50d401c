import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ATTEMPTS_MAX } from '../../api/outbox/mail-transport.ts';
import { inLanguage } from '../../api/web/languages.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { resultPath } from '../../core/web-paths.ts';
import { ADDRESS_KEPT_DAYS, ENTRY_KEPT_DAYS } from '../../stores/outbox/mails.ts';
import { BOUNCE_STOPS, LINK_KEPT_DAYS } from '../../stores/outbox/suppressions.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'public-scans.md'), 'utf8').replace(/\s+/g, ' ');
const [DAY_MS, MINUTE_MS] = [86_400_000, 60_000];

describe('docs/public-scans.md', () => {
  for (const [what, sentence] of [
    ['attempts', `after ${ATTEMPTS_MAX} attempts`],
    ['how long addresses are kept', `for ${ADDRESS_KEPT_DAYS} days after a mail was sent or given up`],
    ['how long entries are kept', `the entry for ${ENTRY_KEPT_DAYS} days`],
    [
      'what a certain bounce stops',
      `| ${BOUNCE_STOPS.certain.results / DAY_MS} days | ${BOUNCE_STOPS.certain.others / MINUTE_MS} minutes |`,
    ],
    [
      'what a doubtful bounce stops',
      `| ${BOUNCE_STOPS.doubtful.results / DAY_MS} days | ${BOUNCE_STOPS.doubtful.others / MINUTE_MS} minutes |`,
    ],
    ['how long bounces are kept', `A bounce is forgotten after at most ${BOUNCE_STOPS.certain.results / DAY_MS} days`],
    ['how long links work', `works for ${LINK_KEPT_DAYS} days after the last mail`],
  ] as const)
    it(`states ${what}`, () => expect(page).to.include(sentence));
});

describe('links in mails', () => {
  for (const locale of LOCALES)
    it(`lead to the result page in ${locale}`, () => expect(resultPath(locale, 'token')).to.equal(inLanguage(locale, '/scan/token')));
});
