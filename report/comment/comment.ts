/**
 * A report as one comment on a pull request: the verdict, the numbers, and the root causes to fix. What a page can
 * choose is only ever in code spans and encoded addresses. Pure.
 */
import { coverageOf } from '../../core/scan/counts.ts';
import { pathOnSite } from '../../core/scan/site.ts';
import { shortCommit } from '../../core/scan/metadata.ts';
import { outcomeOf } from '../results/results.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';
import { elementPath } from '../schema/page.ts';
import type { Report } from '../schema/report.ts';
import type { CauseChange } from '../schema/root-cause.ts';
import { causesToFix, type FixToPass } from '../view/fix-to-pass.ts';
import { baselineLine, knownLine } from '../view/sentences.ts';
import { thresholdRows, toPassSentence, verdictTexts } from '../view/verdict.ts';
import { type ReportWords, wordsIn } from '../words/words.ts';
import { uriOf } from '../formats/shared.ts';

/** The elements that a comment names for each root cause. */
const EXAMPLES = 3;
/** The longest parts of a comment, in characters. */
const SELECTOR_MAX = 300;
const PAGE_MAX = 300;
const HELP_MAX = 300;
const COMMIT_MAX = 100;
/** What follows the root causes, at most: the number of the others, the link and the note. */
const FOOTER_MAX = 3_000;
/** The shortest limit that a comment can keep. */
export const COMMENT_MIN_CHARACTERS = 8_000;

export interface CommentOptions {
  /** Tells the comments of one pull request apart. Default: the host of the site. */
  name?: string;
  /** Where the whole report is. */
  link?: string;
  /** How many root causes are described. */
  causes: number;
  /** The longest comment in characters. */
  maxCharacters: number;
}

/** The name of a comment that has none. */
const nameOf = ({ scan }: Report): string => URL.parse(scan.url)?.host ?? scan.url;

/** The first line of the comment, by which it is found again. */
export const commentMarker = (report: Report, name?: string): string => markerOf(name ?? nameOf(report));

/** Makes the text of a comment, in the language of the scan. */
export function commentOf(report: Report, options: CommentOptions): string {
  const i18n = wordsIn(report.scan.options.locale, 'report');
  const head = headOf(report, options, i18n);
  const { toPass, causes } = causesToFix(report);
  const { title, total } = titleOf(report, toPass, i18n);
  const entries: string[] = [];
  let shown = 0;
  let length = head.length + title.length + FOOTER_MAX;
  for (const cause of causes.slice(0, options.causes)) {
    const entry = entryOf(cause, report, i18n);
    length += entry.length + 1;
    if (length > options.maxCharacters) break;
    entries.push(entry);
    shown += cause.elements;
  }
  const { texts, count } = i18n;
  const more = total > shown ? [`${count(texts.moreViolations, total - shown)}`, ''] : [];
  const footer = [
    ...(options.link === undefined ? [] : [link(plain(texts.openReport), options.link), '']),
    `<sub>${plain(texts.coverNote)}</sub>`,
  ];
  return `${[head, title, '', ...entries, ...(entries.length > 0 ? [''] : []), ...more, ...footer].join('\n')}\n`;
}

function headOf(report: Report, { name }: CommentOptions, i18n: ReportWords): string {
  const { texts, format, number, count } = i18n;
  const { scan, score, counts } = report;
  const { commit } = scan.metadata;
  const rows = thresholdRows(report, i18n);
  const verdict = verdictTexts(report, i18n, rows);
  const mark = scan.verdict.passed === null ? '➖' : scan.verdict.passed ? '✅' : '❌';
  const numbers = [
    `${texts.score} ${number(score.value)} ${texts.outOf}`,
    `${texts.violations}: ${number(counts.total)}`,
    `${texts.pagesTested}: ${number(score.pages_tested)}`,
  ];
  const compared = baselineLine(report, i18n);
  const accepted = knownLine(report, i18n);
  const coverage = coverageOf(outcomeOf(report).pages);
  const untested = score.pages_attempted - score.pages_tested;
  const missed = rows.filter(({ met }) => !met);
  return [
    commentMarker(report, name),
    `### ${mark} ${plain(`${texts.title}: ${verdict.word}`)}`,
    '',
    [code(scan.url, PAGE_MAX), ...(commit === undefined ? [] : [`commit ${code(shortCommit(commit), COMMIT_MAX)}`])].join(' · '),
    '',
    `${plain(numbers.join(' · '))}`,
    ...(compared === '' ? [] : ['', plain(compared)]),
    ...(accepted === '' ? [] : ['', plain(accepted)]),
    ...(untested > 0 ? ['', plain(`${format(texts.coverage, { percent: coverage })}: ${count(texts.pagesUntested, untested)}`)] : []),
    ...(missed.length === 0 && !report.partial ? [] : ['', plain(verdict.detail), '']),
    ...missed.map((row) => `- ${plain(`${row.name}: ${texts.measured} ${row.measured}, ${texts.allowed} ${row.allowed}`)}`),
    '',
  ].join('\n');
}

/** The heading of the root causes with what fixing them leads to, and the number of their violations. */
function titleOf(
  { baseline, counts, known_issues: known }: Report,
  toPass: FixToPass | null,
  { texts, number, locale }: ReportWords,
): { title: string; total: number } {
  const heading = (name: string, total: number): string => `#### ${plain(`${name}: ${number(total)}`)}`;
  if (toPass !== null && toPass.causes.length > 0) {
    const title = [`#### ${plain(texts.fixToPass)}`, '', plain(toPassSentence(toPass, locale))].join('\n');
    return { title, total: toPass.causes.reduce((sum, { elements }) => sum + elements, 0) };
  }
  const isCompared = baseline !== undefined && baseline.new !== null;
  const total = isCompared ? baseline.new! - (baseline.new_known ?? 0) : (known?.violations_new_or_open.total ?? counts.total);
  if (!isCompared) return { title: total === 0 ? plain(`${texts.noViolations}.`) : heading(texts.violations, total), total };
  if (total === 0) return { title: plain(texts.noNewViolations), total };
  return { title: heading(wordsIn(locale, 'score').texts.thresholds.maxNewViolations.name, total), total };
}

function entryOf(cause: CauseChange, { scan }: Report, { texts, count, locale }: ReportWords): string {
  const known = ruleText(cause.rule, locale);
  const title = known === null ? code(cause.help, HELP_MAX) : `**${plain(known.help)}**`;
  const rule = code(cause.rule, HELP_MAX);
  const facts = [
    texts.severities[cause.impact],
    ...(cause.wcag.length > 0 ? [`WCAG ${cause.wcag.filter((id) => /^[\d.]{1,10}$/.test(id)).join(', ')}`] : []),
    `${count(texts.elements, cause.elements)} ${count(texts.onPages, cause.pages)}`,
  ];
  const shown = cause.examples.slice(0, EXAMPLES);
  const rest = cause.elements - shown.length;
  return [
    `- ${title} (${known === null ? rule : link(rule, cause.help_url)})`,
    `  ${plain(facts.join(' · '))}`,
    ...shown.map((example) => `  - ${pageOf(example.page, scan.url)} ${code(elementPath(example), SELECTOR_MAX)}`),
    ...(rest > 0 ? [`  - ${plain(count(texts.moreViolations, rest))}`] : []),
    ...(known === null || known.fix === '' ? [] : ['', `  ${plain(`${texts.howToFix}: ${known.fix}`)}`]),
  ].join('\n');
}

/** A page of the scanned site is a link with its path; another one is its address as text. */
function pageOf(page: string, site: string): string {
  const path = pathOnSite(page, site);
  return path === null ? code(page, PAGE_MAX) : link(code(path, PAGE_MAX), page);
}

/** GitHub shows 10 errors of a step. */
const ANNOTATIONS_MAX = 10;
/** The longest text of an annotation, in characters. */
const TEXT_MAX = 500;

/** Annotations of a job on GitHub, which a step prints: a line for each root cause that the comment would describe, worst first. */
export function annotationsOf(report: Report): string {
  return causesToFix(report)
    .causes.slice(0, ANNOTATIONS_MAX)
    .map(({ rule, help, examples }) => {
      const places = examples.slice(0, EXAMPLES).map((example) => `${example.page} ${elementPath(example)}`);
      return `::error title=${property(`${rule}: ${help}`)}::${data(places.join('\n'))}\n`;
    })
    .join('');
}

/** Control characters could end the line and begin another command. */
const cut = (text: string): string => text.toWellFormed().slice(0, TEXT_MAX).toWellFormed();
const data = (text: string): string =>
  cut(text)
    .replaceAll('%', '%25')
    .replaceAll('\r', '%0D')
    .replaceAll('\n', '%0A')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ');
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** Control characters, line breaks and invisible ones, which could reverse or hide text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/**
 * Text of a page as a code span, in which nothing has a meaning: no HTML, link, mention or command of the system.
 * @param max the longest text in characters; the rest is cut off
 */
export function code(text: string, max: number): string {
  const line = text.toWellFormed().replace(INVISIBLE, ' ').trim();
  const shown = line.length <= max ? line : `${line.slice(0, max).toWellFormed()}…`;
  if (shown === '') return '–';
  const longest = Math.max(0, ...(shown.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  const space = /^`|`$/.test(shown) ? ' ' : '';
  return `${fence}${space}${shown}${space}${fence}`;
}

/** Text of our own catalogues, in one line: its characters, such as those of `<html>`, have no meaning. It must not quote a page. */
export const plain = (text: string): string =>
  text
    .toWellFormed()
    .replace(INVISIBLE, ' ')
    .replace(/[\\`*_[\]~|#$&<>]/g, (character) => ENTITIES[character] ?? `\\${character}`);

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Longer addresses are not linked. In characters. */
const ADDRESS_MAX = 2_000;

/**
 * A link, or only its label if the address is no http or https URL.
 * @param label Markdown
 */
export function link(label: string, address: string): string {
  const url = URL.parse(address.toWellFormed());
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') return label;
  const uri = uriOf(url.href).replace(/[()*'!@~$]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
  return uri.length > ADDRESS_MAX ? label : `[${label}](${uri})`;
}

/** A comment of HTML that identifies the comment of a site. It is the first line, and invisible. */
export const markerOf = (name: string): string => `<!-- curbcut:${encodeURIComponent(name.toWellFormed()).replaceAll('-', '%2D')} -->`;
