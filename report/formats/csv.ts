/** CSV for spreadsheets: one table of elements, of root causes, or of pages. Headings are in the language of the scan, values are not. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { knownMatcher } from '../causes/known-matcher.ts';
import { rootCauseFingerprint } from '../causes/root-causes.ts';
import { countViolations } from '../results/score.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';
import { elementPath, FINDING_LISTS, type FindingList, type ReportNode, type ReportPage, type ReportViolation } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import type { RootCause } from '../schema/root-cause.ts';
import { type ReportWords, WORDS } from '../words/words.ts';

/** Undefined: an empty field. */
type CsvValue = string | number | boolean | null | undefined;

/** What a spreadsheet would take for the beginning of a formula, also in the full width of East Asian scripts. */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/**
 * A field. A spreadsheet would run text that begins like a formula, so such text gets an apostrophe in front. A number has a decimal
 * comma between semicolons: where spreadsheets expect those, they would read 4.5 as a date. A field with either separator is quoted,
 * because a spreadsheet with the other setting would tear it apart.
 */
export function csvField(value: CsvValue, separator = ','): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'string' && typeof value !== 'number') return '';
  const text = typeof value === 'string' ? value : separator === ';' ? String(value).replace('.', ',') : String(value);
  const safe = typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text.toWellFormed();
  return safe !== text || /[",;\t\r\n]/.test(safe) ? `"${safe.toWellFormed().replaceAll('"', '""')}"` : safe;
}

/** A line of RFC 4180. */
export const csvLine = (values: readonly CsvValue[], separator = ','): string =>
  `${values.map((value) => csvField(value, separator)).join(separator)}\r\n`;

/** Where spreadsheets write decimals with a comma, they expect semicolons between fields. */
const SEPARATORS: Readonly<Record<Locale, string>> = { en: ',', de: ';', fr: ';', nl: ';', pl: ';' };

/** With a byte order mark, without which some spreadsheets take UTF-8 for another encoding. */
function csvOf(locale: Locale, rows: readonly Row[], columns: readonly Column[]): string {
  const texts = WORDS[locale].report.csv;
  const line = (values: readonly CsvValue[]): string => csvLine(values, SEPARATORS[locale]);
  const lines = rows.map((row) => line(columns.map((column) => row[column])));
  return `\uFEFF${line(columns.map((column) => texts[column]))}${lines.join('')}`;
}

type Column = keyof ReportWords['texts']['csv'];
type Row = Partial<Record<Column, CsvValue>>;

const KINDS: Readonly<Record<FindingList, string>> = { violations: 'violation', needs_review: 'needs_review', advice: 'advice' };

/** With a word in front, because spreadsheets in German or Polish would read 1.4.3 as a date. */
const criteriaText = (wcag: readonly string[]): string => wcag.map((id) => `SC ${id}`).join(' ');

/** With a word in front: spreadsheets would read the digits of 0123456789012345 and of 12345678901234e5 as numbers, and round them. */
const causeText = (fingerprint: string): string => `cause-${fingerprint}`;

/** What elements and root causes have in common. */
const about = (list: FindingList, { rule, impact, wcag, help, help_url }: ReportViolation | RootCause, locale: Locale): Row => ({
  kind: KINDS[list],
  severity: impact,
  rule,
  criteria: criteriaText(wcag),
  problem: help,
  fix: ruleText(rule, locale)?.fix,
  help: help_url,
});

const FINDING = ['kind', 'severity', 'rule', 'criteria', 'problem'] as const;
// prettier-ignore
const ELEMENT_COLUMNS = [
  'page', ...FINDING, 'selector', 'html', 'fix', 'contrast', 'contrastRequired', 'x', 'y', 'width', 'height', 'state', 'known', 'elements', 'cause', 'help',
] as const;
// prettier-ignore
const CAUSE_COLUMNS = [
  ...FINDING, 'selector', 'html', 'fix', 'elements', 'newElements', 'knownElements', 'pages', 'page', 'state', 'cause', 'help',
] as const;
// prettier-ignore
const PAGE_COLUMNS = [
  'page', 'finalAddress', 'title', 'tested', 'status', 'score', 'critical', 'serious', 'moderate', 'minor', 'needsReview', 'framesUntested',
  'caveats', 'reason', 'message',
] as const;

/** One line for each element that the report describes. Those that are only counted have a line for each root cause, with their number. */
export function elementsCsv(report: Report): string {
  const { locale } = report.scan.options;
  const known = knownMatcher(report.known_issues?.issues ?? []);
  const rowsOf = (page: string, list: FindingList, violation: ReportViolation): Row[] => {
    const { rule, nodes, nodes_total: total, nodes_beyond: beyond = [] } = violation;
    const row = { page, ...about(list, violation, locale) };
    const isKnown = (key: string | undefined): boolean | undefined => (list === 'violations' ? key !== undefined : undefined);
    const left = beyond.reduce((sum, { elements }) => sum + elements, nodes.length);
    return [
      ...nodes.map((node) => ({
        ...row,
        ...describe(node),
        known: isKnown(known.of(rule, node)),
        cause: causeText(rootCauseFingerprint(rule, node)),
      })),
      ...beyond.map(({ fingerprint, elements }) => ({
        ...row,
        elements,
        known: isKnown(known.ofCause(fingerprint)),
        cause: causeText(fingerprint),
      })),
      ...(total > left ? [{ ...row, elements: total - left }] : []),
    ];
  };
  const rows = report.pages.flatMap((page) =>
    page.tested ? FINDING_LISTS.flatMap((list) => page[list].flatMap((violation) => rowsOf(page.url, list, violation))) : [],
  );
  return csvOf(locale, rows, ELEMENT_COLUMNS);
}

const describe = (node: ReportNode): Row => ({
  selector: elementPath(node),
  html: node.html,
  contrast: node.contrast?.ratio,
  contrastRequired: node.contrast?.required,
  ...node.box,
  state: node.state?.kind,
  elements: 1,
});

/** One line for each root cause, with an example. */
export function causesCsv({ scan, groups, review_groups, advice_groups }: Report): string {
  const { locale } = scan.options;
  const rowsOf = (list: FindingList, causes: readonly RootCause[]): Row[] =>
    causes.map((cause) => ({
      ...about(list, cause, locale),
      selector: elementPath(cause.example),
      html: cause.example.html,
      elements: cause.elements,
      newElements: cause.new_elements,
      knownElements: list === 'violations' ? (cause.known_elements ?? 0) : undefined,
      pages: cause.pages,
      page: cause.page_urls[0],
      state: cause.states?.join(' '),
      cause: causeText(cause.fingerprint),
    }));
  const rows = [...rowsOf('violations', groups), ...rowsOf('needs_review', review_groups), ...rowsOf('advice', advice_groups)];
  return csvOf(locale, rows, CAUSE_COLUMNS);
}

/** One line for each page, tested or not. */
export const pagesCsv = ({ scan, pages }: Report): string => csvOf(scan.options.locale, pages.map(pageRow), PAGE_COLUMNS);

function pageRow(page: ReportPage): Row {
  const { url, final_url: finalAddress, http_status: status, tested } = page;
  const row: Row = { page: url, finalAddress, status, tested };
  if (!page.tested) return { ...row, reason: page.reason, message: page.message };
  const { critical, serious, moderate, minor } = countViolations(page.violations);
  const caveats = page.caveats.map(({ kind }) => kind).join(' ');
  const needsReview = countViolations(page.needs_review).total;
  const { title, score, frames_untested } = page;
  return { ...row, title, score, critical, serious, moderate, minor, needsReview, framesUntested: frames_untested.length, caveats };
}
