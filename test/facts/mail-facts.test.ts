import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ATTEMPTS_MAX } from '../../operator/mail/back-off.ts';
import { CONCURRENCY, CONNECTIONS, LOWEST_FIRST_EVERY, PER_DOMAIN, PER_ORGANISATION } from '../../operator/mail/lanes.ts';
import { CLAIM_LEASE_MS, RECORD_ATTEMPTS, RECORD_PAUSE_MS } from '../../operator/mail/sender.ts';
import { inLanguage } from '../../api/web/languages.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { resultPath } from '../../core/web-paths.ts';
import { ADDRESS_KEPT_DAYS, ENTRY_KEPT_DAYS } from '../../stores/mail/outbox.ts';
import { BOUNCE_STOPS, LINK_KEPT_DAYS } from '../../stores/mail/suppressions.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'mail.md'), 'utf8').replace(/\s+/g, ' ');
const [DAY_MS, MINUTE_MS] = [86_400_000, 60_000];
const WORDS: Readonly<Record<number, string>> = { 2: 'two', 4: 'fourth', 5: 'five', 7: 'seven', 8: 'Eight' };

describe('docs/mail.md', () => {
  for (const [what, sentence] of [
    ['attempts', `after ${ATTEMPTS_MAX} attempts`],
    ['deliveries at the same time', `${WORDS[CONCURRENCY]} mails are delivered at the same time`],
    ['deliveries to one domain', `at most ${WORDS[PER_DOMAIN]} of them to one domain`],
    ['the lease', `for ${WORDS[CLAIM_LEASE_MS / 60_000]} minutes in one atomic update`],
    ['how long a delivery is recorded', `for ${(RECORD_ATTEMPTS * RECORD_PAUSE_MS) / 1000} seconds`],
    ['how long addresses are kept', `for ${ADDRESS_KEPT_DAYS} days after a mail was sent or given up`],
    ['how long entries are kept', `the entry for ${ENTRY_KEPT_DAYS} days`],
    ['deliveries of results', `at most ${WORDS[CONNECTIONS.public]} results, so that`],
    ['deliveries of results and invitations', `at most ${WORDS[CONNECTIONS.organisation]} results and invitations`],
    ['deliveries for one organisation', `at most ${WORDS[PER_ORGANISATION]} for one organisation`],
    ['how often results come first', `each ${WORDS[LOWEST_FIRST_EVERY]} delivery`],
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
