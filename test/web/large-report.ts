/** Reports with many pages and root causes. */
import type { ReportNode, TestedPage } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import type { Impact } from '../../core/scan/impacts.ts';
import type { Thresholds } from '../../core/scan/thresholds.ts';
import { reportOf } from '../support/scan-results.ts';
import { sampleInput, sampleNode, samplePage, sampleViolation } from '../report/samples.ts';

const RULES: readonly [rule: string, impact: Impact, help: string, wcag: string[]][] = [
  ['color-contrast', 'critical', 'Elements must meet minimum color contrast ratio thresholds', ['1.4.3']],
  ['image-alt', 'serious', 'Images must have alternative text', ['1.1.1']],
  ['link-name', 'serious', 'Links must have discernible text', ['2.4.4', '4.1.2']],
  ['landmark-unique', 'moderate', 'Landmarks should have a unique role or role/label/title combination', []],
];

/** A number in letters: digits do not tell elements apart. */
const letters = (n: number): string => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');

const COLORS = { foreground: '#8a8a8a', background: '#ffffff', ratio: 3.45, required: 4.5, font_size_px: 14, bold: false };

const nodeOf = (cause: number): ReportNode => ({
  ...sampleNode(
    `<span class="teaser ${letters(cause)}" data-tracking="${'campaign '.repeat(20)}"></span>`,
    `main > div.column > section.teasers > span.${letters(cause)}`,
  ),
  box: { x: 40 + (cause % 7) * 170, y: 120 + cause * 45, width: 150, height: 30 },
  ...(cause % RULES.length === 0 && { contrast: COLORS }),
});

/** Cause n is on page n modulo the number of pages, and every tenth one on ten pages. */
export function reportWith(pages: number, causes: number, url: string, thresholds: Thresholds = {}): Report {
  const onPage = Map.groupBy(
    Array.from({ length: causes }, (_, n) =>
      Array.from({ length: n % 10 === 0 ? 10 : 1 }, (_one, k) => [n, (n + k) % pages] as const),
    ).flat(),
    ([, page]) => page,
  );
  const tested = Array.from({ length: pages }, (_, at): TestedPage => {
    const found = (onPage.get(at) ?? []).map(([n]) => n);
    const violations = RULES.flatMap(([rule, impact, help, wcag], index) => {
      const nodes = [...new Set(found)].filter((n) => n % RULES.length === index).map(nodeOf);
      return nodes.length === 0 ? [] : [sampleViolation(rule, impact, help, nodes, wcag)];
    });
    const page = samplePage(`${url}section-${at % 20}/an-article-with-a-longer-address-${at}`, `Article ${at} of the magazine`, violations);
    return { ...page, size: { width: 1280, height: 3600 } };
  });
  const input = sampleInput(thresholds, 'en', url);
  return reportOf({ ...input, pagesReserved: pages, options: { ...input.options, maxPages: pages } }, tested);
}
