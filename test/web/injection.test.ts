/**
 * Hostile texts through the whole path: export, view, pages, mails, CSV and PDF. Each page is compared with the same page of
 * harmless texts: both must have the same elements with the same attributes. The pages run without their policy for contents,
 * so that the escaping alone is tested.
 */
import { expect } from 'chai';
import { createTransport } from 'nodemailer';
import type { BrowserContext, Page } from 'playwright-core';
import type { ReportViolation } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { viewOf, type ReportView } from '../../report/view/view.ts';
import type { Impact } from '../../core/scan/impacts.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { startMail } from '../../local/mail/mail.ts';
import type { CaughtMail } from '../../local/mail/mailbox.ts';
import { renderInvitation, renderScanResult, type Rendered } from '../../api/outbox/mail-contents.ts';
import { buildReport } from '../../report/results/build.ts';
import { renderPdf } from '../../report/pdf/render.ts';
import { parseView } from '../../stores/s3-ranges.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { PASSWORD, signedIn } from '../api/people.ts';
import { createClient } from '../api/client.ts';
import { allOf, Name, readPdf, type Dict } from '../report/pdf-reader.ts';
import { sampleInput, sampleNode, samplePage, sampleUntested, sampleViolation } from '../report/samples.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { addWebhook } from '../support/add-webhook.ts';
import { issueKey } from '../support/issue-key.ts';
import { context as mailContext, scanResult } from '../support/mail-samples.ts';
import { sharedBrowser } from './browser.ts';
import { storePublicScan } from './public-world.ts';
import { OUTCOME, storeReportView } from './scan-views.ts';
import { openWeb, type Web } from './web.ts';

const HARMLESS = HOSTILE_TEXTS.map((_, at) => `harmless ${at}`);
const SITE = 'https://www.example.org/';

/** A finding whose every text is the given one. */
function violation(text: string, rule: string, impact: Impact = 'serious'): ReportViolation {
  const node = {
    ...sampleNode(`<p title="${text}" class=${text}>${text}</p>`, `p[title="${text}"]`, text),
    frame_path: [text],
    shadow_path: [text],
  };
  return {
    ...sampleViolation(rule, impact, text, [node, { ...node, selector: text }], [text]),
    description: text,
    help_url: `https://help.example/${text}`,
  };
}

/** The export of a scan of a site with these texts. */
function exportOf(texts: readonly string[], pages: 'one' | 'many'): Report {
  const found = texts.map((text) => [violation(text, text)]);
  // A rule that has texts of ours.
  found[0]!.push(violation(texts.join(' '), 'image-alt', 'critical'));
  const tested =
    pages === 'one'
      ? [samplePage(SITE, texts.join(' '), found.flat(), found.flat())]
      : texts.map((text, at) => samplePage(`${SITE}?${at}=${text}`, text, found[at]!, found[at]));
  const untested = texts.map((text, at) => ({ ...sampleUntested(`${SITE}${at}/${text}`, 'http_error', 404), message: text }));
  const input = sampleInput({ minScore: 90 }, 'en', SITE);
  return buildReport({
    input: { ...input, pagesReserved: pages === 'one' ? 1 : 90, options: { ...input.options, maxPages: pages === 'one' ? 1 : 90 } },
    pages: pages === 'one' ? tested : [...tested, ...untested],
    tools: { curbcut: '0.1.0', axe_core: texts.join(' ').slice(0, 100), browser: texts[0]! },
    startedAt: new Date('2026-03-02T09:14:05.000Z'),
    finishedAt: new Date('2026-03-02T09:15:42.000Z'),
  });
}

/** What the operator stores and the API reads. */
function storedView(report: Report): ReportView {
  const view = parseView(Buffer.from(JSON.stringify(viewOf(JSON.parse(JSON.stringify(report)) as Report))));
  if (view === null) throw new TypeError('the view is not valid');
  return view;
}

/** Browsers drop NUL or replace it, and replace half a pair. Space is not compared. */
const comparable = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u0000\ufffd]/g, '')
    .replace(/\s+/g, ' ')
    .trim();

const withoutSpace = (text: string): string => comparable(text).replaceAll(' ', '');

const SKELETON = `[...document.querySelectorAll('*')].map((one) => one.localName + ' ' + one.getAttributeNames().sort().join(' ')).join('\\n')`;
const OPEN_DETAILS = "for (const one of document.querySelectorAll('details')) one.open = true";
const HREFS = `[...document.querySelectorAll('[href], [src], [action], [formaction]')].map((one) => new URL(one.href?.baseVal ?? one.href ?? one.src ?? one.action, location).protocol)`;

describe('hostile texts', () => {
  let web: Web;
  let visitor: BrowserContext;
  /** What a page did that only a hostile text makes it do. */
  const done: string[] = [];

  before(async () => {
    web = await openWeb();
    visitor = await (await sharedBrowser()).newContext({ baseURL: web.url, bypassCSP: true });
    await visitor.exposeFunction('pwned', () => void done.push('script'));
    await visitor.route(
      (url) => url.protocol.startsWith('http') && url.origin !== web.url,
      (route) => {
        done.push(`request to ${route.request().url()}`);
        return route.abort();
      },
    );
    visitor.on('dialog', (dialog) => {
      done.push('dialog');
      void dialog.dismiss();
    });
  });
  after(async () => {
    await visitor?.close();
    await web?.close();
  });

  /** Checks the page that a text made against the page that a harmless one made. */
  async function expectInert(page: Page, skeleton: string, texts: readonly string[]): Promise<void> {
    await page.evaluate(OPEN_DETAILS);
    for (const type of ['mouseover', 'focus', 'click'])
      await page.evaluate(
        `for (const one of document.querySelectorAll('main p, main code, main span')) one.dispatchEvent(new Event('${type}'))`,
      );
    expect(await page.evaluate<string>(SKELETON)).to.equal(skeleton);
    expect(await page.evaluate<string[]>(HREFS)).to.satisfy((all: string[]) => all.every((one) => /^(?:https?|mailto|about):$/.test(one)));
    const shown = comparable(await page.evaluate<string>('document.documentElement.textContent'));
    for (const text of texts) expect(shown).to.include(comparable(text));
    expect(done).to.deep.equal([]);
  }

  async function open(path: string): Promise<{ page: Page; skeleton: string }> {
    const page = await visitor.newPage();
    const answer = await page.goto(path, { waitUntil: 'networkidle' });
    expect(answer!.status(), path).to.be.oneOf([200, 422]);
    await page.evaluate(OPEN_DETAILS);
    return { page, skeleton: await page.evaluate<string>(SKELETON) };
  }

  /** Opens the page that `make` gives for harmless and for hostile texts. */
  async function compare(make: (texts: readonly string[]) => Promise<string>, shown: (text: string) => string = (text) => text) {
    const harmless = await open(await make(HARMLESS));
    const hostile = await open(await make(HOSTILE_TEXTS));
    await expectInert(hostile.page, harmless.skeleton, HOSTILE_TEXTS.map(shown));
    await Promise.all([harmless.page.close(), hostile.page.close()]);
  }

  it('are texts on the result page of a public scan', async () => {
    await compare(async (texts) => `/de/scan/${await storePublicScan(web, { phase: 'done' }, storedView(exportOf(texts, 'one')))}`);
  });

  it('are texts on the page of a public scan that failed', async () => {
    await compare(
      async (texts) => `/scan/${await storePublicScan(web, { phase: 'failed', reason: undefined, message: texts.join(' | ') })}`,
    );
  });

  it('lead nowhere as the address of a help text', async () => {
    const view = storedView(exportOf(HARMLESS, 'one'));
    const groups = view.groups.map((group, at) => ({ ...group, help_url: HOSTILE_TEXTS[at % HOSTILE_TEXTS.length]! }));
    const token = await storePublicScan(web, { phase: 'done' }, { ...view, groups });
    const { page, skeleton } = await open(`/scan/${token}`);
    await expectInert(page, skeleton, []);
    const hrefs = await page.evaluate<string[]>("[...document.querySelectorAll('.finding-foot a')].map((one) => one.getAttribute('href'))");
    expect(hrefs.filter((href) => href === '#').length).to.be.at.least(5);
    await page.close();
  });

  describe('in the dashboard', () => {
    /** Signs in to a new organisation with these texts as its name and as that of the user. */
    async function signIn(texts: readonly string[]): Promise<string> {
      const { id } = await web.organisation({ credits: 20 });
      await web.db.collection<{ _id: string }>('organisations').updateOne({ _id: id }, { $set: { displayName: texts.join(' | ') } });
      const email = `${id}@people.example`;
      await web.stores.users.add({ email, organisation: id, password: PASSWORD, name: texts.join(' | ') });
      const client = createClient(web.url);
      await client.signIn(email, PASSWORD);
      await visitor.clearCookies();
      await visitor.addCookies([...client.cookies].map(([name, value]) => ({ name, value, url: web.url })));
      return id;
    }

    async function storeScan(organisation: string, report: Report, message: string): Promise<string> {
      const row = await web.scan(organisation, {
        phase: 'done',
        outcome: OUTCOME,
        message,
        passed: false,
        options: withDefaults({ url: SITE }),
        finishedAt: new Date('2026-03-02T09:15:42.000Z'),
        createdAt: new Date('2026-03-02T09:14:00.000Z'),
      });
      await storeReportView(web, row.id, report);
      const bytes = Buffer.from(JSON.stringify(report));
      await fetch(await web.stores.reports.uploadLink(reportKeys(row.id).export, 'application/json', 60), {
        method: 'PUT',
        body: bytes,
        headers: { 'content-type': 'application/json' },
      });
      const digest = 'a'.repeat(64);
      const reports = { export: { key: 'e', bytes: bytes.length, sha256: digest }, pdf: { key: 'p', bytes: 1, sha256: digest } };
      await web.db.collection<{ _id: string }>('scans').updateOne({ _id: row.id }, { $set: { reports } });
      return row.id;
    }

    for (const [path, shown] of [
      ['', 100],
      ['?size=25', 100],
      ['/pages', 100],
      // It has the texts of one page.
      ['/pages/1', 0],
    ] as const)
      it(`are texts on the page of a scan, at "${path}"`, async () => {
        await compare(
          async (texts) => `/dashboard/scans/${await storeScan(await signIn(texts), exportOf(texts, 'many'), texts.join(' | '))}${path}`,
          (text) => text.slice(0, shown),
        );
      });

    it('are texts in the difference of two scans', async () => {
      await compare(
        async (texts) => {
          const organisation = await signIn(texts);
          const empty = exportOf(texts, 'one');
          await storeScan(organisation, { ...empty, pages: [samplePage(SITE, texts[0]!, [])], groups: [] }, '');
          const id = await storeScan(organisation, exportOf(texts, 'many'), '');
          await web.db
            .collection<{ _id: string }>('scans')
            .updateOne({ _id: id }, { $set: { createdAt: new Date('2026-03-03T09:14:00.000Z') } });
          return `/dashboard/scans/${id}/difference`;
        },
        () => '',
      );
    });

    it('are texts in the list of scans', async () => {
      await compare(
        async (texts) => {
          const organisation = await signIn(texts);
          for (const text of texts)
            await web.scan(organisation, {
              phase: 'failed',
              reason: undefined,
              message: text,
              options: withDefaults({ url: `${SITE}?${text}` }),
            });
          return `/dashboard/scans?${new URLSearchParams({ q: SITE })}`;
        },
        () => '',
      );
    });

    it('are texts in filters that are shown again', async () => {
      await compare(
        async (texts) => {
          await signIn(['Acme']);
          return `/dashboard/scans?${new URLSearchParams({ q: texts.join(' '), site: texts.join(' '), after: texts[0]! })}`;
        },
        () => '',
      );
    });

    for (const path of [
      '/dashboard/settings/members',
      '/dashboard/settings/api-keys',
      '/dashboard/settings/webhooks',
      '/dashboard/settings/audit-log',
      '/dashboard/credits',
      '/dashboard/account',
    ])
      it(`are texts on ${path}`, async () => {
        await compare(async (texts) => {
          const id = await signIn(texts);
          const all = texts.join(' | ');
          await issueKey(web.stores.keys, id, { name: all });
          await addWebhook(web.stores, { organisation: id, name: all, createdBy: all });
          await web.stores.organisations.record({ organisation: id, actor: all, action: all, subject: all });
          await web.stores.credits.grant(id, all, 5);
          await web.stores.invitations.create({
            organisation: id,
            email: 'new@people.example',
            role: 'viewer',
            createdBy: all,
            mailed: true,
          });
          return path;
        });
      });

    it('stay in the fields of a form that is shown again', async () => {
      const { client } = await signedIn(web);
      const page = await visitor.newPage();
      for (const text of HOSTILE_TEXTS) {
        const { status, text: answer } = await client.submit('/dashboard/scans/new', { url: text, max_pages: text, min_score: text });
        expect(status).to.equal(422);
        await page.setContent(answer);
        expect(await page.locator('main script, main img, main iframe, [onfocus], [onmouseover], [autofocus]').count(), text).to.equal(0);
        // Fields of one line keep no line breaks.
        for (const name of ['url', 'max_pages', 'min_score'])
          expect(withoutSpace(await page.locator(`main [name="${name}"]`).inputValue()), name).to.equal(withoutSpace(text));
        expect(done, text).to.deep.equal([]);
      }
      await page.close();
    });

    it('are no formulas and no further rows in the ledger as CSV', async () => {
      const id = await signIn(['Acme']);
      for (const text of HOSTILE_TEXTS) await web.stores.credits.grant(id, text, 1);
      const cookie = (await visitor.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
      const response = await fetch(`${web.url}/dashboard/credits/ledger.csv`, { headers: { cookie } });
      const rows = parseCsv(await response.text());
      // The header, and the first grant of the organisation.
      expect(rows).to.have.lengthOf(2 + HOSTILE_TEXTS.length);
      for (const row of rows) {
        expect(row).to.have.lengthOf(6);
        for (const cell of row) expect(cell).to.not.match(/^[=+\-@\t\r]/);
      }
    });
  });

  describe('in mails', () => {
    const mails = (text: string): Rendered[] => {
      const [first] = storedView(exportOf([text], 'one')).groups;
      const view = { ...storedView(exportOf([text], 'one')), groups: [{ ...first!, rule: text }] };
      return [
        renderScanResult(scanResult({ ended: { phase: 'done', outcome: OUTCOME, view } }), mailContext('fr')),
        renderScanResult(
          scanResult({ url: `${SITE}?${text}`, ended: { phase: 'failed', reason: undefined, message: text } }),
          mailContext('en'),
        ),
        renderInvitation(
          { organisation: text, invitedBy: text, url: 'https://curbcut.example.com/x', expiresAt: '2026-11-22T10:05:00Z' },
          mailContext('pl'),
        ),
      ];
    };

    it('are texts in the HTML, and one line in the subject', async () => {
      const page = await visitor.newPage();
      const harmless: string[] = [];
      for (const { html } of mails('harmless')) {
        await page.setContent(html);
        harmless.push(await page.evaluate<string>(SKELETON));
      }
      for (const text of HOSTILE_TEXTS)
        for (const [at, { html, subject }] of mails(text).entries()) {
          await page.setContent(html);
          expect(await page.evaluate<string>(SKELETON), text).to.equal(harmless[at]);
          expect(subject, text).to.match(/^[^\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+$/u);
          expect(done, text).to.deep.equal([]);
        }
      await page.close();
    });

    it('add no header, receiver or part to a mail', async () => {
      const catcher = await startMail();
      const transport = createTransport(catcher.smtpUrl);
      try {
        const risky = HOSTILE_TEXTS.filter((text) => /[\r\n\u0000\u2028]/.test(text));
        const sent = risky.flatMap(mails);
        for (const mail of sent) await transport.sendMail({ from: 'no-reply@localhost', to: 'ada@example.com', ...mail });
        const { data } = (await (await fetch(`${catcher.inboxUrl}/api/mails`)).json()) as { data: CaughtMail[] };
        expect(data.map(({ subject }) => subject).sort()).to.deep.equal(sent.map(({ subject }) => subject).sort());
        for (const { to, headers } of data) {
          expect(JSON.stringify(to)).to.include('ada@example.com').and.not.include('evil');
          expect(headers.map(({ name }) => name)).to.not.include('bcc');
        }
      } finally {
        transport.close();
        await catcher.close();
      }
    });
  });

  it('are texts in the PDF, without actions other than links to web pages', async () => {
    const file = readPdf(await renderPdf(exportOf(HOSTILE_TEXTS, 'many')));
    const dicts = [...file.objects.values()].flatMap(dictsIn);
    for (const dict of dicts) {
      for (const name of ['JS', 'JavaScript', 'OpenAction', 'AA', 'Launch', 'EmbeddedFiles', 'AcroForm'])
        expect(dict).to.not.have.property(name);
      const action = dict['S'];
      if (action instanceof Name) expect(['JavaScript', 'Launch', 'SubmitForm', 'ImportData', 'GoToR']).to.not.include(action.name);
      if (typeof dict['URI'] === 'string') expect(dict['URI']).to.match(/^https?:\/\//);
    }
    const texts = comparable(
      allOf(file.tree)
        .map(({ text }) => text)
        .join(' '),
    );
    for (const text of HOSTILE_TEXTS.slice(0, 3)) expect(texts).to.include(comparable(text));
  });
});

/** Every dictionary within a value of a PDF. */
function dictsIn(value: unknown): Dict[] {
  if (Array.isArray(value)) return value.flatMap(dictsIn);
  if (value === null || typeof value !== 'object' || value instanceof Name) return [];
  return [value as Dict, ...Object.values(value).flatMap(dictsIn)];
}

/** Reads CSV (RFC 4180). */
function parseCsv(text: string): string[][] {
  const cells = [...text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)];
  expect(cells.map(([whole]) => whole).join('')).to.equal(text);
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of cells) {
    rows.at(-1)!.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end === '\r\n') rows.push([]);
  }
  return rows.slice(0, -1);
}
