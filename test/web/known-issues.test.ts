/** Known issues in a real browser: accepting one at a root cause, the list, changing and removing one. */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { ENDING_DAYS, KNOWN_ISSUE_MAX_DAYS, KNOWN_ISSUES_MAX } from '../../core/scan/known-issues.ts';
import type { Role } from '../../core/accounts.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { KNOWN_ISSUES_PATH } from '../../core/web-paths.ts';
import type { ReportView } from '../../report/view/schema.ts';
import type { RootCause } from '../../report/schema/root-cause.ts';
import type { KnownIssueRow } from '../../stores/known-issues/known-issues.ts';
import { down } from '../api/replica.ts';
import { expectAccessible } from './accessible.ts';
import { openAs, type PersonPage } from './open-as.ts';
import { HOSTILE, OUTCOME, storeView } from './scan-views.ts';
import { useWeb, type VisitorOptions } from './web.ts';

const DAY_MS = 86_400_000;
const SITE = 'example.com';
const CAUSE = '0123456789abcdef';
const REVIEW_CAUSE = 'aaaaaaaaaaaaaaaa';
const inDays = (days: number): Date => new Date(Date.now() + days * DAY_MS);
const dayIn = (days: number): string => inDays(days).toISOString().slice(0, 10);

type EditView = (groups: RootCause[], view: ReportView) => void;

describe('known issues in a browser', () => {
  const web = useWeb();

  async function scanOf(organisation: string, edit: EditView = () => {}): Promise<string> {
    const options = withDefaults({ url: `https://${SITE}/` });
    const row = await web.scan(organisation, { phase: 'done', outcome: OUTCOME, pages: OUTCOME.pages, options, finishedAt: new Date() });
    const reports = await storeView(web, row.id, {}, (view) => edit(view.groups, view));
    await web.db.collection<{ _id: string }>('scans').updateOne({ _id: row.id }, { $set: { reports } });
    return row.id;
  }
  /** Opens the page of a new scan. */
  async function openScan(role: Role, options: VisitorOptions & { edit?: EditView } = {}): Promise<PersonPage & { scan: string }> {
    const { edit, ...visitor } = options;
    const { id: organisation } = await web.organisation();
    const scan = await scanOf(organisation, edit);
    return Object.assign(await openAs(web, role, `/dashboard/scans/${scan}`, { ...visitor, organisation }), { scan });
  }
  async function addIssue(organisation: string, fields: Partial<KnownIssueRow> = {}): Promise<KnownIssueRow> {
    const issue = {
      ...{ organisation, site: SITE, reason: 'The supplier fixes it in version 3.', owner: 'video team' },
      ...(fields.rule === undefined && { fingerprint: CAUSE }),
      ...{ expiresAt: inDays(90), createdBy: 'ada@example.com', createdAt: new Date() },
      ...fields,
    };
    const added = await web.stores.knownIssues.add(issue);
    if (!added.ok) throw new Error(added.reason);
    return added.issue;
  }
  const accept = (page: Page) => page.getByRole('link', { name: /^Accept as known/ }).first();
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();
  const done = (page: Page) => page.locator('.notice-good').innerText();
  const rows = (page: Page) => page.locator('#known-issues tbody th a').allInnerTexts();
  const audited = async (organisation: string) =>
    (await web.stores.organisations.audit(organisation, 20))
      .filter(({ action }) => action.startsWith('known-issue.'))
      .map(({ action, actor }) => `${action} ${actor}`);

  it('are accepted at a root cause, changed and removed, without scripts', async () => {
    const picture = { fingerprint: CAUSE, offset: 0, bytes: 1, width: 40, height: 20, page_url: `https://${SITE}/` };
    const page = await openScan('owner', { javaScriptEnabled: false, edit: (_, view) => void view.pictures.push(picture) });
    const { organisation, person } = page;
    await accept(page).click();
    expect(await heading(page)).to.equal('Accept a known issue');
    expect(await page.locator('.definitions').innerText()).to.match(/Root cause[^]*3 elements on 2 pages[^]*image-alt[^]*example\.com/);
    await page.getByLabel('Reason').fill('The supplier fixes it.');
    await page.getByLabel('Owner').fill('video team');
    await page.getByLabel('End').fill(dayIn(20));
    await press(page, 'Accept as known');
    expect(await done(page)).to.include('The violations are accepted.');
    const [issue, ...others] = await web.stores.knownIssues.list(organisation, { limit: 10 });
    expect(others).to.deep.equal([]);
    expect(issue).to.deep.include({
      site: SITE,
      fingerprint: CAUSE,
      reason: 'The supplier fixes it.',
      owner: 'video team',
      createdBy: person.email,
    });
    expect(issue!.expiresAt.toISOString()).to.equal(`${dayIn(20)}T00:00:00.000Z`);
    const known = await page.locator('.definitions').innerText();
    expect(known)
      .to.include('Ends soon')
      .and.match(/critical[^]*Images must have[^]*3 elements on 2 pages[^]*https:\/\/example\.com/i);
    expect(await page.locator('.element-picture img').getAttribute('src')).to.include(`/dashboard/scans/${page.scan}/pictures/`);
    await page.getByRole('link', { name: 'Back to the scan' }).click();
    expect(await page.getByRole('link', { name: /^Accept as known/ }).count(), 'it is accepted').to.equal(1);
    await page.locator(`#cause-${CAUSE}`).getByRole('link', { name: 'The supplier fixes it.' }).click();

    await page.getByLabel('Reason').fill('Later.');
    await page.getByLabel('End').fill(dayIn(KNOWN_ISSUE_MAX_DAYS));
    await press(page, 'Save changes');
    expect(await done(page)).to.equal('The changes are saved.');
    await page.getByRole('link', { name: 'Remove the known issue' }).click();
    expect(await heading(page)).to.equal('Remove this known issue?');
    await expectAccessible(page, 'known-issue-remove');
    await press(page, 'Remove the known issue');
    expect(await done(page)).to.equal('The known issue was removed.');
    expect(await web.stores.knownIssues.list(organisation, { limit: 10 })).to.deep.equal([]);
    const actions = ['remove', 'change', 'add'].map((action) => `known-issue.${action} ${person.email}`);
    expect(await audited(organisation)).to.deep.equal(actions);
  });

  it('decide what needs review, without scripts', async () => {
    const page = await openScan('owner', { javaScriptEnabled: false });
    await page.setViewportSize({ width: 320, height: 640 });
    const { organisation } = page;
    await page.getByRole('link', { name: /^Needs review/ }).click();
    await page.getByRole('link', { name: /^Decide/ }).click();
    expect(await heading(page)).to.equal('Decide what needs review');
    await page.getByLabel('Reason').fill('The video has no sound.');
    await page.getByLabel('Owner').fill('ada');
    await press(page, 'Save the decision');
    expect(await page.getByRole('alert').getByRole('link').allInnerTexts()).to.deep.equal(['Choose what the elements are.']);
    await expectAccessible(page, 'decision-new');
    await page.getByRole('radio', { name: 'They are a fault' }).check();
    await press(page, 'Save the decision');
    expect(await done(page)).to.include('The decision is saved.');
    const [issue] = await web.stores.knownIssues.list(organisation, { limit: 10 });
    expect(issue).to.deep.include({ kind: 'fault', fingerprint: REVIEW_CAUSE, reason: 'The video has no sound.' });
    expect(issue!.example).to.deep.include({ scanId: page.scan, rule: 'video-caption' });
    await expectAccessible(page, 'decision');
    await page.getByRole('link', { name: 'Remove the decision' }).click();
    expect(await heading(page)).to.equal('Remove this decision?');
    await page.getByRole('link', { name: 'Keep it' }).click();
    await page.getByRole('link', { name: 'the scan', exact: true }).click();
    await page.getByRole('link', { name: /^Needs review/ }).click();
    const cause = page.locator(`#cause-${REVIEW_CAUSE}`);
    expect(await cause.innerText())
      .to.include('Decided: a fault')
      .and.include('It counts in scans that start from now on.');
    expect(await cause.getByRole('link', { name: /^Decide/ }).count()).to.equal(0);
    await cause.getByRole('link', { name: 'The video has no sound.' }).click();
    await page.goto(KNOWN_ISSUES_PATH);
    expect(await page.locator('#known-issues').innerText()).to.match(/Videos must have captions|video/i);
    expect(await page.locator('#known-issues .badge').allInnerTexts()).to.include('Decided: a fault');
  });

  it('are accepted by rule and selector, and once if the form is sent twice', async () => {
    const page = await openScan('owner');
    await accept(page).click();
    const { url, form } = await page.evaluate<{ url: string; form: Record<string, string> }>(
      `({ url: document.querySelector('form[novalidate]').action, form: Object.fromEntries(new FormData(document.querySelector('form[novalidate]'))) })`,
    );
    const selector = `iframe >>> img[alt='${HOSTILE}']`;
    expect(form['selector']).to.equal(selector);
    const fields = { ...form, about: 'selector', reason: 'Later.', owner: 'shop team' };
    const send = () => page.request.post(url, { form: fields, headers: { origin: web.url }, maxRedirects: 0 });
    const answers = await Promise.all([send(), send()]);
    expect(answers.map((answer) => answer.status())).to.deep.equal([303, 303]);
    const issues = await web.stores.knownIssues.list(page.organisation, { limit: 10 });
    expect(issues.map(({ rule, selector, fingerprint }) => [rule, selector, fingerprint])).to.deep.equal([
      ['image-alt', selector, undefined],
    ]);
    expect(await audited(page.organisation)).to.have.length(1);
  });

  it('keep what was typed, and say what is wrong at each field', async () => {
    const page = await openScan('owner');
    await accept(page).click();
    await page.getByRole('radio', { name: 'Only elements at a selector' }).check();
    await page.locator('#selector').fill('');
    await page.getByLabel('Owner').fill('video team');
    await page.getByLabel('End').fill(dayIn(KNOWN_ISSUE_MAX_DAYS + 2));
    await press(page, 'Accept as known');
    const errors = page.getByRole('alert');
    expect(await errors.getByRole('link').allInnerTexts()).to.have.members(['Enter the selector of the elements.', 'Enter the reason.']);
    expect(await page.getByLabel('Owner').inputValue()).to.equal('video team');
    expect(await page.getByRole('radio', { name: 'Only elements at a selector' }).isChecked()).to.equal(true);
    await expectAccessible(page, 'known-issue-new');
    await page.getByLabel('End').fill('');
    await press(page, 'Accept as known');
    expect(await page.locator('#expires_at-error').innerText()).to.equal('Enter a date, such as 2030-01-31.');
    expect(await web.stores.knownIssues.list(page.organisation, { limit: 10 })).to.deep.equal([]);
  });

  it('say that a site has as many as it may have', async () => {
    const page = await openScan('owner');
    await accept(page).click();
    web.faults.set('knownIssues.add', async () => ({ ok: false, reason: 'too_many_known_issues' }));
    await page.getByLabel('Reason').fill('Later.');
    await page.getByLabel('Owner').fill('video team');
    await press(page, 'Accept as known');
    expect(await page.getByRole('alert').innerText()).to.include(`The site has ${KNOWN_ISSUES_MAX} known issues`);
    expect(await page.getByLabel('Reason').inputValue()).to.equal('Later.');
  });

  it('are not offered where a cause is known already, and not to people who may not accept them', async () => {
    const known = (groups: RootCause[]) => void Object.assign(groups[0]!, { known_elements: groups[0]!.elements });
    const page = await openScan('owner', { edit: known });
    expect(await page.getByRole('link', { name: /^Accept as known/ }).count()).to.equal(1);
    const member = await openScan('member');
    expect(await member.getByRole('link', { name: /^Accept as known/ }).count()).to.equal(0);
    for (const path of [`new?scan=${member.scan}&cause=${CAUSE}`, `${(await addIssue(member.organisation)).id}/remove`]) {
      await member.goto(`${KNOWN_ISSUES_PATH}/${path}`);
      expect(await heading(member)).to.equal('You may not do this');
    }
    await member.goto(KNOWN_ISSUES_PATH);
    await member.getByRole('link', { name: 'The supplier fixes it in version 3.' }).click();
    expect(await member.locator('main').innerText()).to.include('video team');
    expect(await member.getByRole('main').getByRole('button').count()).to.equal(0);
  });

  it('of causes that do not exist are not found', async () => {
    const page = await openScan('owner');
    for (const path of ['nothing', 'new', `new?scan=${page.scan}&cause=ffffffffffffffff`])
      expect((await page.goto(`${KNOWN_ISSUES_PATH}/${path}`))!.status(), path).to.equal(404);
  });

  it('say that the details of a cause cannot be read, and keep what was typed', async () => {
    const page = await openScan('owner');
    const scan = await scanOf(page.organisation);
    // Of most causes of a large scan, the view has no details.
    const view = await web.stores.reports.readView(scan);
    await web.stores.reports.writeView(scan, Buffer.from(JSON.stringify({ ...view, groups: [] })));
    const path = `${KNOWN_ISSUES_PATH}/new?scan=${scan}&cause=${CAUSE}`;
    await page.goto(path);
    web.faults.set('reports.readFindings', down);
    await page.getByLabel('Owner').fill('video team');
    await press(page, 'Accept as known');
    expect(await page.getByRole('alert').innerText()).to.include('Enter the reason.');
    expect(await page.getByLabel('Owner').inputValue()).to.equal('video team');
    expect((await page.goto(path))!.status()).to.equal(503);
  });

  it('are listed, filtered by site and state, in parts', async () => {
    const page = await openAs(web, 'owner', KNOWN_ISSUES_PATH);
    expect(await page.locator('main').innerText()).to.include('There is no known issue');
    const { organisation } = page;
    await addIssue(organisation, { reason: 'Ended before.', fingerprint: 'e'.repeat(16), expiresAt: inDays(-1), createdAt: inDays(-40) });
    await addIssue(organisation, { reason: 'Ends soon.', expiresAt: inDays(ENDING_DAYS - 1), createdAt: inDays(-30) });
    const at = { rule: 'color-contrast', selector: `main ${'> div '.repeat(30)}> p`, site: 'shop.example.com' };
    await addIssue(organisation, { reason: `A long reason: ${'later '.repeat(40)}`, ...at, createdAt: inDays(-20) });
    await page.reload();
    expect((await rows(page)).map((text) => text.slice(0, 13))).to.deep.equal(['A long reason', 'Ends soon.', 'Ended before.']);
    expect(await page.locator('#known-issues .badge').allInnerTexts()).to.deep.equal(['Ends soon', 'Ended']);
    await expectAccessible(page, 'known-issues');
    const filtered = async (state: string) => {
      await page.getByLabel('State').selectOption(state);
      await press(page, 'Filter');
      return (await rows(page)).map((text) => text.slice(0, 13));
    };
    expect(await filtered('ended')).to.deep.equal(['Ended before.']);
    await page.getByLabel('Site').fill('https://Shop.example.com/');
    expect(await filtered('')).to.deep.equal(['A long reason']);
    expect(await page.getByLabel('Site').inputValue()).to.equal('shop.example.com');
    for (let more = 0; more < 25; more += 1)
      await addIssue(organisation, {
        reason: `Number ${more}`,
        rule: `rule-${more}`,
        selector: 'p',
        createdAt: new Date(Date.now() - more),
      });
    await page.goto(KNOWN_ISSUES_PATH);
    expect(await rows(page)).to.have.length(25);
    await page.getByRole('link', { name: 'Next' }).click();
    expect(await rows(page)).to.have.length(3);
  });

  it('are marked where they matched nothing in the newest scan of their site, until they end', async () => {
    const page = await openAs(web, 'owner', KNOWN_ISSUES_PATH);
    const { organisation } = page;
    const [scan, at] = [await scanOf(organisation), new Date()];
    const of = (reason: string, fields: Partial<KnownIssueRow> = {}) =>
      addIssue(organisation, { reason, fingerprint: randomBytes(8).toString('hex'), ...fields });
    const stale = await of('Stale.');
    await of('Matched.');
    const ended = await of('Ended.', { expiresAt: inDays(-1), createdAt: inDays(-40) });
    const elsewhere = await of('Elsewhere.', { site: 'shop.example.com' });
    await web.stores.knownIssues.recordMatches(organisation, SITE, {
      scanId: scan,
      at,
      unmatched: [stale.id, ended.id, elsewhere.id],
    });
    const badges = async () =>
      Promise.all(
        (await page.locator('#known-issues tbody th').all()).map(async (cell) => [
          await cell.getByRole('link').innerText(),
          ...(await cell.locator('.badge').allInnerTexts()),
        ]),
      );
    await page.reload();
    expect(await badges()).to.have.deep.members([['Stale.', 'Stale'], ['Matched.'], ['Ended.', 'Ended'], ['Elsewhere.']]);
    await page.getByLabel('State').selectOption({ label: 'Stale' });
    await press(page, 'Filter');
    expect(await badges()).to.deep.equal([['Stale.', 'Stale']]);
    await page.getByRole('link', { name: 'Stale.' }).click();
    expect(await page.locator('.definitions').innerText()).to.match(/Newest scan\s+Stale The scan of [^]* found nothing that it covers/);
    await expectAccessible(page, 'known-issue');
    await page.getByRole('link', { name: 'The scan of' }).click();
    expect(page.url()).to.equal(`${web.url}/dashboard/scans/${scan}`);
  });

  it('keep their time of the day if only the reason changes', async () => {
    const page = await openAs(web, 'owner', KNOWN_ISSUES_PATH);
    const { id, expiresAt } = await addIssue(page.organisation, { expiresAt: inDays(20.5) });
    await page.goto(`${KNOWN_ISSUES_PATH}/${id}`);
    await page.getByLabel('Reason').fill('Later.');
    await press(page, 'Save changes');
    const changed = await web.stores.knownIssues.find(page.organisation, id);
    expect(changed).to.deep.include({ reason: 'Later.', expiresAt });
  });

  it('of a manifest are shown with its name, and are not changed here', async () => {
    const page = await openAs(web, 'owner', KNOWN_ISSUES_PATH);
    const manifest = { operatorClass: 'curbcut', namespace: 'shop', name: 'accepted' };
    const issue = { fingerprint: CAUSE, reason: 'In Git.', owner: 'video team', expiresAt: inDays(90) };
    const version = { uid: 'u', generation: 1, createdAt: new Date() };
    await web.stores.knownIssues.declare(
      { ...manifest, ...version, organisation: page.organisation, site: SITE, issues: [issue] },
      null,
      new Date(),
    );
    await page.reload();
    expect(await page.locator('#known-issues').innerText()).to.include('KnownIssues shop/accepted');
    await page.getByRole('link', { name: 'In Git.' }).click();
    expect(await page.locator('main').innerText()).to.match(/Reason\s+In Git\.[^]*changed and removed there: KnownIssues shop\/accepted/);
    expect(await page.getByRole('main').getByRole('button').count()).to.equal(0);
    const path = page.url();
    await page.goto(`${path}/remove`);
    expect(page.url()).to.equal(path);
  });
});
