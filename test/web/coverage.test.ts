/** Which test shows that a page is accessible, for every page. */
import { readdirSync, readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { docPath, DOCS_PATH, DOCS_SEARCH_PATH, KNOWN_ISSUES_PATH, TRACKER_PATH, WEBHOOKS_PATH } from '../../core/web-paths.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { inLanguage } from '../../api/web/languages.ts';
import { down } from '../api/replica.ts';
import { FACTORS } from '../api/second-factor.ts';
import { expectAccessible } from './accessible.ts';
import { openAs } from './open-as.ts';
import { useWeb } from './web.ts';

const SCAN = '/dashboard/scans/:id';
const KEYS = '/dashboard/settings/api-keys';

/** The name that a test gives to `expectAccessible`, by route. `${locale}` stands for every language. */
const PAGES: Readonly<Record<string, string>> = {
  [DOCS_PATH]: 'docs',
  [docPath(':page')]: 'docs-${name}',
  [DOCS_SEARCH_PATH]: 'docs-search',
  '/unsubscribe/:token': 'unsubscribe-${locale}',
  '/unsubscribe/:token/:topic': 'stop-mails',
  '/dashboard/sign-in': 'sign-in',
  '/dashboard/sign-in/second-factor': 'sign-in-second-factor',
  '/dashboard/sign-in/passkey': 'sign-in-passkey',
  '/dashboard/invitation/:token': 'invitation',
  '/dashboard/reset-password': 'reset-password',
  '/dashboard/reset-password/:token': 'reset-password-new',
  '/dashboard/account': 'account',
  '/dashboard/account/delete': 'account-delete',
  '/mails/:token': 'recipient',
  '/dashboard/settings/recipients': 'recipients',
  '/dashboard/account/mails': 'account-mails',
  '/dashboard/organisations': 'organisations',
  '/dashboard/account/confirm': 'confirm',
  [FACTORS]: 'second-factor',
  [`${FACTORS}/passkeys/new`]: 'passkey-new',
  [`${FACTORS}/passkeys/:id`]: 'passkey',
  [`${FACTORS}/app`]: 'app-new',
  [`${FACTORS}/app/removal`]: 'app-remove',
  '/dashboard/settings/security': 'security',
  [TRACKER_PATH]: 'tracker',
  '/dashboard/settings/members': 'members',
  '/dashboard/settings/members/left-behind': 'left-behind',
  '/dashboard/settings/audit-log': 'audit-log',
  [KEYS]: 'api-keys',
  [`${KEYS}/new`]: 'api-keys-new',
  [`${KEYS}/:key_id/revoke`]: 'api-keys-revoke',
  [WEBHOOKS_PATH]: 'webhooks',
  [`${WEBHOOKS_PATH}/new`]: 'webhooks-new',
  [`${WEBHOOKS_PATH}/:webhook_id`]: 'webhook',
  [KNOWN_ISSUES_PATH]: 'known-issues',
  [`${KNOWN_ISSUES_PATH}/new`]: 'known-issue-new',
  [`${KNOWN_ISSUES_PATH}/:known_issue_id`]: 'known-issue',
  [`${KNOWN_ISSUES_PATH}/:known_issue_id/remove`]: 'known-issue-remove',
  '/dashboard/credits': 'credits',
  '/dashboard/schedules': 'schedules',
  '/dashboard/schedules/new': 'schedule-new',
  '/dashboard/schedules/:namespace/:name': 'schedule',
  '/dashboard/schedules/:namespace/:name/change': 'schedule-change',
  '/dashboard/schedules/:namespace/:name/delete': 'schedule-delete',
  '/dashboard': 'sites',
  '/dashboard/sites/:site': 'site',
  '/dashboard/sites/:site/delete': 'site-delete',
  '/dashboard/sites/:site/:optionsKey': 'site-without-result',
  '/dashboard/scans': 'dashboard-scans',
  '/dashboard/scans/new': 'dashboard-new-scan',
  [SCAN]: 'dashboard-scan-done',
  [`${SCAN}/pages`]: 'dashboard-scan-pages',
  [`${SCAN}/pages/:page`]: 'dashboard-scan-page',
  [`${SCAN}/criteria`]: 'dashboard-scan-criteria',
  [`${SCAN}/causes/:cause/ticket`]: 'dashboard-ticket',
  [`${SCAN}/difference`]: 'dashboard-difference',
  ...Object.fromEntries(
    LOCALES.flatMap((locale) => [
      [inLanguage(locale, '/'), 'home-${locale}'],
      [inLanguage(locale, '/scan/:token'), 'result-${locale}'],
      [inLanguage(locale, '/shared/:token'), 'result-shared-de'],
    ]),
  ),
};

/** Routes that answer with a part of a page, a file, a stream or another address. */
const NO_PAGES = [
  '/dashboard/credits/ledger.csv',
  '/dashboard/settings/audit-log/audit-log.csv',
  '/dashboard/sites.csv',
  ...['causes', 'elements', 'pages'].map((table) => `${SCAN}/report/${table}.csv`),
  '/dashboard/scans/rows',
  '/dashboard/site-rows',
  ...['progress', 'events', 'report', 'report/barriers', 'report/html', 'report/json', 'report/openacr', 'pictures/:name'].map(
    (part) => `${SCAN}/${part}`,
  ),
  ...['/scan', '/shared'].flatMap((result) => ['pictures/:name', 'report.pdf'].map((file) => `${result}/:token/${file}`)),
  ...LOCALES.map((locale) => inLanguage(locale, '/scan-request')),
];

describe('every page', () => {
  const web = useWeb({ mail: true, publicBaseUrl: 'http://localhost' });

  it('is tested for accessibility', () => {
    expect([...Object.keys(PAGES), ...NO_PAGES].sort()).to.deep.equal(web.app.web.routes().sort());
    const folder = import.meta.dirname;
    const tests = readdirSync(folder)
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => readFileSync(join(folder, name), 'utf8').replace(/^const PAGES[^]*?^};/m, ''))
      .join('\n');
    const missing = Object.values(PAGES).filter((name) => !tests.includes(`'${name}')`) && !tests.includes(`\`${name}\`)`));
    expect(missing).to.deep.equal([]);
  });

  it('of the dashboard says accessibly that it does not exist, that a dependency is down, or that the organisation is blocked', async () => {
    const page = await openAs(web, 'member', `/dashboard/scans/${randomUUID()}`);
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    expect(await page.getByRole('link', { name: 'Go to the dashboard' }).getAttribute('href')).to.equal('/dashboard');
    await expectAccessible(page, 'dashboard-missing');
    web.faults.set('scans.search', down);
    await page.goto('/dashboard');
    expect(await page.getByRole('heading', { level: 1 }).innerText()).to.match(/unavailable/);
    web.faults.clear();
    await web.stores.organisations.setBlocked(page.organisation, true);
    await page.goto('/dashboard');
    expect(await page.getByRole('heading', { level: 1 }).innerText()).to.equal('This account is blocked');
    expect(await page.getByRole('table').count()).to.equal(0);
  });
});
