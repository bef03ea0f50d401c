/**
 * Hostile texts through the whole path: export, view, pages and PDF. Each page is compared with the same page of
 * harmless texts: both must have the same elements with the same attributes. The pages run without their policy for contents,
 * so that the escaping alone is tested.
 */
import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import type { ReportViolation } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { viewOf, type ReportView } from '../../report/view/view.ts';
import type { Impact } from '../../core/scan/impacts.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { buildReport } from '../../report/results/build.ts';
import { renderPdf } from '../../report/pdf/render.ts';
import { parseView } from '../../stores/s3-ranges.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { PASSWORD } from '../api/people.ts';
import { createClient } from '../api/client.ts';
import { allOf, Name, readPdf, type Dict } from '../report/pdf-reader.ts';
import { sampleInput, sampleNode, samplePage, sampleUntested, sampleViolation } from '../report/samples.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
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
      ['?size=25', 100],
      // It has the texts of one page.
      ['/pages/1', 0],
    ] as const)
      it(`are texts on the page of a scan, at "${path}"`, async () => {
        await compare(
          async (texts) => `/dashboard/scans/${await storeScan(await signIn(texts), exportOf(texts, 'many'), texts.join(' | '))}${path}`,
          (text) => text.slice(0, shown),
        );
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
