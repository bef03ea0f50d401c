/** Which test shows that a page is accessible, for every page. */
import { readdirSync, readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import { docPath, DOCS_PATH, DOCS_SEARCH_PATH, KNOWN_ISSUES_PATH, WEBHOOKS_PATH } from '../../core/web-paths.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { inLanguage } from '../../api/web/languages.ts';
import { down } from '../api/replica.ts';
import { FACTORS } from '../api/second-factor.ts';
import { expectAccessible } from './accessible.ts';
import { openAs } from './open-as.ts';
import { useWeb } from './web.ts';

const SCAN = '/dashboard/scans/:id';
const KEYS = '/dashboard/settings/api-keys';

/** The names that the tests give to `expectAccessible`, by route. `${locale}` stands for every language. */
const PAGES: Readonly<Record<string, readonly string[]>> = {
  [DOCS_PATH]: ['docs'],
  [docPath(':page')]: ['docs-${name}'],
  [DOCS_SEARCH_PATH]: ['docs-search', 'docs-search-empty'],
  '/unsubscribe/:token': ['unsubscribe-${locale}', 'unsubscribed-${locale}', 'unsubscribe-unknown'],
  '/dashboard/sign-in': ['sign-in', 'sign-in-wrong'],
  '/dashboard/sign-in/second-factor': [
    'sign-in-second-factor-passkey',
    'sign-in-second-factor-wrong',
    'sign-in-recovery',
    'sign-in-second-factor-ended',
  ],
  '/dashboard/sign-in/passkey': ['sign-in-passkey'],
  '/dashboard/invitation/:token': ['invitation', 'invitation-error', 'invitation-ended'],
  '/dashboard/reset-password': ['reset-password', 'reset-password-sent'],
  '/dashboard/reset-password/:token': ['reset-password-new'],
  '/dashboard/account': ['account', 'account-error'],
  '/dashboard/account/delete': ['account-delete'],
  '/dashboard/organisations': ['organisations', 'organisations-leave', 'organisations-none'],
  '/dashboard/account/confirm': ['confirm-app', 'confirm-password'],
  [FACTORS]: ['second-factor-none', 'second-factor-passkey', 'second-factor-app', 'second-factor-recovered', 'second-factor-required'],
  [`${FACTORS}/passkeys/new`]: ['passkey-new', 'passkey-new-no-script', 'passkey-refused', 'recovery-codes'],
  [`${FACTORS}/passkeys/:id`]: ['passkey', 'passkey-remove'],
  [`${FACTORS}/app`]: ['app-new', 'app-new-wrong'],
  [`${FACTORS}/app/removal`]: ['app-remove'],
  '/dashboard/settings/security': ['security-optional', 'security-refused', 'security-required'],
  '/dashboard/settings/members': ['members', 'members-error', 'members-invited', 'members-remove'],
  '/dashboard/settings/members/keys': ['member-keys'],
  '/dashboard/settings/audit-log': ['audit-log', 'audit-log-empty'],
  [KEYS]: ['api-keys', 'api-keys-empty'],
  [`${KEYS}/new`]: ['api-keys-new', 'api-keys-new-errors', 'api-keys-created', 'api-keys-created-before'],
  [`${KEYS}/:key_id/revoke`]: ['api-keys-revoke'],
  [WEBHOOKS_PATH]: ['webhooks', 'webhooks-empty'],
  [`${WEBHOOKS_PATH}/new`]: ['webhooks-new', 'webhooks-new-errors', 'webhooks-created', 'webhooks-created-before'],
  [`${WEBHOOKS_PATH}/:webhook_id`]: ['webhook', 'webhook-empty', 'webhook-stopped', 'webhook-manifest', 'webhook-delete'],
  [KNOWN_ISSUES_PATH]: ['known-issues', 'known-issues-empty', 'known-issues-none', 'known-issues-stale'],
  [`${KNOWN_ISSUES_PATH}/new`]: ['known-issue-new', 'known-issue-errors'],
  [`${KNOWN_ISSUES_PATH}/:known_issue_id`]: ['known-issue', 'known-issue-read-only', 'known-issue-stale'],
  [`${KNOWN_ISSUES_PATH}/:known_issue_id/remove`]: ['known-issue-remove'],
  '/dashboard/credits': ['credits', 'credits-empty'],
  '/dashboard/schedules': ['schedules', 'schedules-empty', 'schedules-outdated'],
  '/dashboard/schedules/new': ['schedule-new', 'schedule-preview', 'schedule-errors'],
  '/dashboard/schedules/:namespace/:name': ['schedule', 'schedule-suspended', 'schedule-read-only'],
  '/dashboard/schedules/:namespace/:name/change': ['schedule-change', 'schedule-stale'],
  '/dashboard/schedules/:namespace/:name/delete': ['schedule-delete'],
  '/dashboard': ['sites', 'sites-empty', 'sites-in-progress', 'dashboard-blocked', 'dashboard-unavailable', 'permission-denied'],
  '/dashboard/sites/:site': ['site', 'site-missing'],
  '/dashboard/sites/:site/:optionsKey': ['site-without-result'],
  '/dashboard/scans': ['dashboard-scans', 'dashboard-scans-empty'],
  '/dashboard/scans/new': ['dashboard-new-scan', 'dashboard-new-scan-errors'],
  [SCAN]: [
    'dashboard-scan-done',
    'dashboard-scan-pictures',
    'dashboard-scan-live',
    'dashboard-scan-cancel',
    'dashboard-scan-again-refused',
    'dashboard-scan-missing',
  ],
  [`${SCAN}/pages`]: ['dashboard-scan-pages'],
  [`${SCAN}/pages/:page`]: ['dashboard-scan-page'],
  [`${SCAN}/difference`]: ['dashboard-difference', 'dashboard-difference-many', 'dashboard-difference-none'],
  ...Object.fromEntries(
    LOCALES.flatMap((locale) => [
      [inLanguage(locale, '/'), ['home-${locale}', 'home-errors-${locale}']],
      [inLanguage(locale, '/scan/:token'), ['result', 'waiting', '${name}'].map((name) => `${name}-\${locale}`)],
      [inLanguage(locale, '/shared/:token'), ['result-shared-de']],
    ]),
  ),
};

/** Routes that answer with a part of a page, a file, a stream or another address. */
const NO_PAGES = [
  '/dashboard/credits/ledger.csv',
  '/dashboard/scans/rows',
  '/dashboard/site-rows',
  ...['progress', 'events', 'report', 'report/json', 'pictures/:name'].map((part) => `${SCAN}/${part}`),
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
    const missing = Object.values(PAGES)
      .flat()
      .filter((name) => !tests.includes(`'${name}')`) && !tests.includes(`\`${name}\`)`));
    expect(missing).to.deep.equal([]);
  });

  it('of the dashboard says accessibly that it does not exist, or that a dependency is down', async () => {
    const page = await openAs(web, 'member', `/dashboard/scans/${randomUUID()}`);
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    await expectAccessible(page, 'dashboard-scan-missing');
    for (const path of [`/dashboard/scans/${randomUUID()}`, '/dashboard/nothing']) {
      await page.goto(path);
      expect(await page.getByRole('link', { name: 'Go to the dashboard' }).getAttribute('href'), path).to.equal('/dashboard');
    }
    web.faults.set('scans.search', down);
    await page.goto('/dashboard');
    await expectAccessible(page, 'dashboard-unavailable');
    expect(await page.getByRole('heading', { level: 1 }).innerText()).to.match(/unavailable/);
  });

  it('of the dashboard says accessibly that the organisation is blocked', async () => {
    const page = await openAs(web, 'owner', '/dashboard');
    await web.stores.organisations.setBlocked(page.organisation, true);
    await page.goto('/dashboard');
    await expectAccessible(page, 'dashboard-blocked');
    expect(await page.getByRole('heading', { level: 1 }).innerText()).to.equal('This account is blocked');
    expect(await page.getByRole('table').count()).to.equal(0);
  });
});
