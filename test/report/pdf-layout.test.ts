/** How root causes are named and laid out in the PDF. */
import { expect } from 'chai';
import { drawCauses, drawReviews } from '../../report/pdf/causes.ts';
import { createFlow, type Flow } from '../../report/pdf/flow.ts';
import { wordsIn } from '../../report/words/words.ts';
import { renderPdf } from '../../report/pdf/render.ts';
import { openTaggedDocument, PAGE } from '../../report/pdf/tagged-document.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { allOf, readPdf } from './pdf-reader.ts';
import { picturesOfSizes, variedReport } from './varied-report.ts';

const PAGE_HEIGHT = PAGE.height - PAGE.top - PAGE.bottom;

/** The empty part of each page that root causes end before the next page begins, as a share of the page. */
async function emptyShares(locale: Locale, causes: number): Promise<number[]> {
  const report = variedReport(locale, causes);
  const pictures = picturesOfSizes(report);
  const pdf = openTaggedDocument({ title: 'x', subject: 'x', language: locale, createdAt: new Date(0) });
  const flow = createFlow(pdf);
  const shares: number[] = [];
  const { newPage } = flow;
  flow.newPage = function (this: Flow) {
    if (pdf.pages() > 1) shares.push(flow.left() / PAGE_HEIGHT);
    newPage();
  };
  const context = {
    i18n: wordsIn(locale, 'report'),
    site: report.scan.url,
    rules: new Map(report.rules.map((rule) => [rule.id, rule])),
    pictures: new Map([...pictures].map(([fingerprint, jpeg]) => [fingerprint, { jpeg, pageUrl: report.scan.url }])),
  };
  await drawCauses(flow, report, context, pdf.doc.outline);
  await drawReviews(flow, report, context, pdf.doc.outline);
  return shares;
}

describe('the layout of root causes in the PDF', () => {
  for (const [locale, causes] of [
    ['en', 9],
    ['fr', 17],
  ] as const)
    it(`leaves no page a third empty with ${causes} causes in ${locale}`, async () => {
      const shares = await emptyShares(locale, causes);
      expect(shares).to.have.length.at.least(3);
      expect(Math.max(...shares), shares.map((share) => share.toFixed(2)).join(' ')).to.be.below(1 / 3);
    });

  it('tells root causes of one rule apart by their element, in headings and in the first table', async () => {
    const report = variedReport('en', 9);
    const elements = allOf(readPdf(await renderPdf(report)).tree);
    const headings = elements.filter(({ type }) => type === 'H3').map(({ text }) => text.replace(/^\d+\. /, ''));
    for (const list of [headings.slice(0, report.groups.length), headings.slice(report.groups.length)])
      expect(new Set(list).size).to.equal(list.length);
    expect(headings).to.include('Images must have alternative text · .banner-a').and.include('Form elements must have labels');
    const table = elements.find(({ type }) => type === 'Table')!;
    const named = table.children.slice(1).map(({ children: [cell] }) => allOf([cell!]).map(({ text }) => text));
    expect(named.flat()).to.include('.banner-a');
  });
});
