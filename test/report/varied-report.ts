/** A report with root causes of different heights, several of them of one rule, and with pictures of different sizes. */
import { buildReport } from '../../report/results/build.ts';
import type { ReportViolation } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import type { Impact } from '../../core/scan/impacts.ts';
import type { Locale } from '../../core/scan/locales.ts';
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

/** A report of eight pages. @param causes how many root causes of violations it has; half as many are to review */
export function variedReport(locale: Locale, causes: number): Report {
  const findings = Array.from({ length: causes }, (_, index) => findingOf(index));
  const pages = Array.from({ length: 8 }, (_, page) =>
    samplePage(
      `https://www.example.org/section-${page}/a-page-with-a-longer-address`,
      `Page ${page}`,
      merged(findings.filter((_, index) => index % (page + 1) === 0)),
      merged(findings.filter((_, index) => index % 2 === page % 2)),
    ),
  );
  return buildReport({
    input: sampleInput({ minScore: 90 }, locale),
    pages,
    tools: { curbcut: '0.1.0', axe_core: '4.14.1', browser: 'Chromium 156.0.7411.0' },
    startedAt: new Date('2026-03-02T09:14:05.000Z'),
    finishedAt: new Date('2026-03-02T09:15:42.000Z'),
  });
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
export function picturesOfSizes(report: Report): Map<string, Uint8Array> {
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
