/** How root causes are named and laid out in the PDF. */
import { expect } from 'chai';
import { drawCauses, drawReviews } from '../../report/pdf/causes.ts';
import { createFlow, type Flow } from '../../report/pdf/flow.ts';
import { wordsIn } from '../../report/words/words.ts';
import { renderPdf } from '../../report/pdf/render.ts';
import { openTaggedDocument, PAGE } from '../../report/pdf/tagged-document.ts';
import type { Impact } from '../../core/scan/impacts.ts';
import type { Locale } from '../../core/scan/locales.ts';
import type { ReportViolation } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import { allOf, readPdf } from './pdf-reader.ts';
import { reportOf } from '../support/scan-results.ts';
import { SAMPLE_JPEG, sampleInput, sampleNode, samplePage, sampleViolation } from './samples.ts';

const COLORS = { foreground: '#8a8a8a', background: '#ffffff', ratio: 3.45, required: 4.5, font_size_px: 14, bold: false };
const LABELS =
  'Fix any of the following:\n  Form element does not have an implicit (wrapped) <label>\n  Form element does not have an explicit <label>\n  aria-label attribute does not exist or is empty\n  aria-labelledby attribute does not exist, references elements that do not exist or references elements that are empty\n  Element has no title attribute';

const RULES: readonly [string, Impact, string, string[]][] = [
  ['image-alt', 'critical', 'Images must have alternative text', ['1.1.1']],
  ['color-contrast', 'serious', 'Elements must meet minimum color contrast ratio thresholds', ['1.4.3']],
  ['label', 'critical', 'Form elements must have labels', ['4.1.2']],
  ['link-name', 'serious', 'Links must have discernible text', ['2.4.4', '4.1.2']],
];

/** The nth root cause: the rules in turn, with short and long markup. Only the first causes have a form field. */
function findingOf(index: number): ReportViolation {
  const [rule, impact, help, wcag] = RULES[index === 2 ? 2 : [0, 1, 3][index % 3]!]!;
  const name = `banner-${[...String(index)].map((digit) => 'abcdefghij'[Number(digit)]).join('')}`;
  const words = Array.from({ length: (index * 7) % 40 }, (_, n) => `data-${'abcdefghij'[n % 10]!}${n}="value ${n}"`).join(' ');
  const node = sampleNode(
    `<${rule === 'label' ? 'input' : 'span'} class="${name}" ${words}>`,
    `.${name}`,
    index % 2 === 0 ? LABELS : undefined,
  );
  return sampleViolation(rule, impact, help, [rule === 'color-contrast' ? { ...node, contrast: COLORS } : node], wcag);
}

/**
 * A report of eight pages, with root causes of different heights, several of them of one rule.
 * @param causes how many root causes of violations it has; half as many are to review
 */
function variedReport(locale: Locale, causes: number): Report {
  const findings = Array.from({ length: causes }, (_, index) => findingOf(index));
  const pages = Array.from({ length: 8 }, (_, page) =>
    samplePage(
      `https://www.example.org/section-${page}/a-page-with-a-longer-address`,
      `Page ${page}`,
      merged(findings.filter((_, index) => index % (page + 1) === 0)),
      merged(findings.filter((_, index) => index % 2 === page % 2)),
    ),
  );
  return reportOf(sampleInput({ minScore: 90 }, locale), pages);
}

/** One finding for each rule, as pages have them. */
const merged = (findings: readonly ReportViolation[]): ReportViolation[] =>
  [...Map.groupBy(findings, ({ rule }) => rule).values()].map((same) => {
    const nodes = same.flatMap((finding) => finding.nodes);
    return { ...same[0]!, nodes, nodes_total: nodes.length };
  });

/** Where a JPEG of `SAMPLE_JPEG`'s kind states its height and width. */
const SIZE_AT = Buffer.from(SAMPLE_JPEG).indexOf(Buffer.from([0xff, 0xc0])) + 5;
const SIZES = [
  [640, 140],
  [300, 200],
  [160, 90],
] as const;

/** Adds a picture of each root cause: wide, medium and small ones in turn. @returns the JPEGs by fingerprint */
function picturesOfSizes(report: Report): Map<string, Uint8Array> {
  const pictures = report.groups.map(({ fingerprint }, index) => {
    const jpeg = Buffer.from(SAMPLE_JPEG);
    const [width, height] = SIZES[index % SIZES.length]!;
    jpeg.writeUInt16BE(height, SIZE_AT);
    jpeg.writeUInt16BE(width, SIZE_AT + 2);
    return { fingerprint, jpeg, width, height };
  });
  report.pictures = pictures.map(({ fingerprint, jpeg, width, height }, index) => ({
    ...{ fingerprint, width, height },
    offset: index * jpeg.length,
    bytes: jpeg.length,
    page_url: report.scan.url,
  }));
  return new Map(pictures.map(({ fingerprint, jpeg }) => [fingerprint, jpeg]));
}

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
    expect(headings).to.include('Images must have alternative text · main span.banner-a').and.include('Form elements must have labels');
    const table = elements.find(({ type }) => type === 'Table')!;
    const named = table.children.slice(1).map(({ children: [cell] }) => allOf([cell!]).map(({ text }) => text));
    expect(named.flat()).to.include('main span.banner-a');
  });
});
