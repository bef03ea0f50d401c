/**
 * A report as one HTML file, in the language of the scan. It shows what the page of a scan shows, needs no network, and can be sent to
 * people who have no account. Texts and pictures have a bound each, so that the file stays below 5 MB; what is left out is said.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locale } from '../../core/scan/locales.ts';
import { distinctNames } from '../causes/element-names.ts';
import type { Report } from '../schema/report.ts';
import type { RootCause } from '../schema/root-cause.ts';
import type { PageCauses } from '../view/findings.ts';
import { leftLines } from '../view/gaps.ts';
import { type CauseLine, type FindingsPlace, type ReportView, viewObjectsOf, type ViewPage } from '../view/view.ts';
import { baselineLine, consentSentence, hasUncountedStates, stateLines } from '../view/sentences.ts';
import { explainScore, scoreFactsOf, thresholdRows, verdictTexts } from '../view/verdict.ts';
import { wordsIn } from '../words/words.ts';
import { foldedCard, notice, table } from './blocks.ts';
import { causeItem } from './cause.ts';
import { criteriaCounts, criteriaTable } from './criteria.ts';
import { logo, siteLink, siteName, dateAndTime, withPart } from './elements.ts';
import { EMBEDDED_MAX_BYTES, embedWithin } from './embedded.ts';
import { causeFilters, filterMarks } from './filters.ts';
import { html, type Html, NOTHING, raw } from './html.ts';
import { pageFindings } from './page-findings.ts';
import { documentsCard, pageColumns, pageName, pageRow, pageStates } from './pages.ts';
import { fixToPassCard, resultCard } from './result.ts';
import { siteCss, webFont } from './tokens.ts';

/** The most bytes of each part, without its pictures. */
const MAX_BYTES = { causes: 900_000, others: 150_000, pages: 250_000, findings: 550_000 };

/** The first causes are open. */
const OPEN = 3;

/** What the parts of the file are made of. */
interface Context {
  report: Report;
  view: ReportView;
  locale: Locale;
  /** The picture of a root cause, or of a page by its address, as an address that holds it. */
  causeSrc(fingerprint: string): string | null;
  pageSrc(url: string): string | null;
  read(place: FindingsPlace): unknown;
  /** The numbers of pictures that the report has, and that the file shows. */
  pictures: { all: number; shown: number };
  /** The root causes that the file lists, once they are written. */
  listed: Set<string>;
}

/** Writes the file. @param pictures the object with the pictures of the report; null: there are none */
export function htmlReport(report: Report, pictures: Uint8Array | null): string {
  const { view, findings } = viewObjectsOf(report);
  const { locale } = report.scan.options;
  const decoder = new TextDecoder();
  const read = ({ offset, bytes }: FindingsPlace): unknown => JSON.parse(decoder.decode(findings.subarray(offset, offset + bytes)));
  const all = pictures === null ? 0 : report.pictures.length + (report.page_pictures?.length ?? 0);
  const [ofCause, ofPage] = [embedWithin(EMBEDDED_MAX_BYTES.causes, pictures), embedWithin(EMBEDDED_MAX_BYTES.pages, pictures)];
  const context: Context = {
    ...{ report, view, locale, read, pictures: { all, shown: 0 }, listed: new Set<string>() },
    causeSrc: (fingerprint) => ofCause(view.pictures.find((one) => one.fingerprint === fingerprint)),
    pageSrc: (url) => ofPage(view.page_pictures.find(({ page_url }) => page_url === url)),
  };
  return `${document(context)}\n`;
}

function document(context: Context): Html {
  const { locale, view } = context;
  const { texts, format } = wordsIn(locale, 'report');
  const title = format(texts.titleOf, { site: siteName(view.scan.url) });
  const [style, script] = [siteCss(`data:font/woff2;base64,${webFont()}`), readFileSync(join(import.meta.dirname, 'report.js'), 'utf8')];
  const own = `style-src '${hashOf(style)}'; script-src '${hashOf(script)}'`;
  const policy = `default-src 'none'; img-src data:; font-src data:; ${own}; base-uri 'none'; form-action 'none'`;
  return html`<!doctype html>
    <html lang="${locale}">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <meta name="referrer" content="no-referrer" />
        <title>${title}</title>
        <style>${raw(style)}</style>
      </head>
      <body>
        <a class="skip-link" href="#main">${wordsIn(locale, 'site').texts.skip}</a>
        <header class="site-header">
          <div class="site-header-inner"><span class="brand">${logo}<span>Curbcut</span></span></div>
        </header>
        <main id="main" tabindex="-1">
          <h1>${title}</h1>
          ${body(context)}
        </main>
        <script type="module">${raw(script)}</script>
      </body>
    </html>`;
}

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`;

function body(context: Context): Html {
  const { view } = context;
  const causes = causesSection(context);
  const others = [
    othersSection(context, view.review_groups, view.review_groups_total, 'review'),
    othersSection(context, view.advice_groups, view.advice_groups_total, 'advice'),
  ];
  const { table: list, details, leftOut } = pagesSection(context);
  return html`${head(context)} ${causes} ${others} ${criteria(context)} ${list} ${documentsCard(context.view.discovery, context.locale)} ${details} ${about(context, leftOut)}`;
}

/** What was tested, and how it ended. */
function head(context: Context): Html {
  const { report, view, locale } = context;
  const i18n = wordsIn(locale, 'report');
  const { texts, format } = i18n;
  const { url, options, finished_at: at, verdict } = report.scan;
  const { pages_requested: requested, pages_reserved: reserved } = options;
  const facts = scoreFactsOf(report);
  const explained = explainScore(facts, locale);
  const { word, detail } = verdictTexts(report, i18n, thresholdRows(report, i18n));
  const partial = report.partial ?? false;
  // A message of a scan that did not fail says what it lacks, such as coverage: no reason to call it good.
  const isWarning = partial || (verdict.passed !== false && verdict.message !== null);
  const kind = isWarning ? 'warn' : verdict.passed === null ? 'note' : verdict.passed ? 'good' : 'bad';
  const sentence = partial ? null : explained.verdict;
  const compared = baselineLine(report, i18n);
  const target = format(texts.target, { version: options.wcag_version, level: options.wcag_level });
  return html`<p>${siteLink(url)}<br />${withPart(texts.testedOn, 'date', dateAndTime(at, locale))}<br />${target}</p>
    ${notice({ kind, title: sentence ?? word, body: sentence === null ? detail : undefined, id: 'outcome' })}
    ${requested > reserved && html`<p>${format(texts.partial, { n: reserved, m: requested })}</p>`}
    ${compared !== '' && html`<p>${compared}</p>`}
    ${resultCard({ ...facts, passed: verdict.passed, partial, explained, decided: view.decided, locale })}
    ${fixToPassCard(view, (cause) => causeHref(context, cause), locale)}`;
}

/** Where a root cause is. Null: there was no room for it. */
const causeHref = ({ listed }: Context, fingerprint: string): string | null => (listed.has(fingerprint) ? `#cause-${fingerprint}` : null);

interface Part<T> {
  entries: readonly T[];
  /** The most bytes, without the pictures. */
  maxBytes: number;
  render(entry: T, index: number): Html;
  /** The address of the picture that an entry shows. */
  src?(entry: T): string | null;
}

/** Renders entries until one does not fit. */
function within<T>({ pictures }: Pick<Context, 'pictures'>, { entries, maxBytes, render, src = () => null }: Part<T>): Html[] {
  const fitting: Html[] = [];
  let space = maxBytes;
  for (const [index, entry] of entries.entries()) {
    const part = render(entry, index);
    const text = part.toString();
    const picture = src(entry);
    // A map on which nothing is displayed has no picture.
    space -= Buffer.byteLength(text) - (picture !== null && text.includes(picture) ? picture.length : 0);
    if (space < 0) break;
    fitting.push(part);
    if (picture !== null) pictures.shown += 1;
  }
  return fitting;
}

function causesSection(context: Context): Html {
  const { view, locale, causeSrc, listed } = context;
  const { texts, count } = wordsIn(locale, 'report');
  if (view.groups_total === 0)
    return notice({ kind: view.partial ? 'note' : 'good', title: texts.noViolations, body: texts.noViolationsDetail });
  const item = (line: CauseLine, index: number): Html =>
    causeItem(
      { line, cause: detailsOf(context, line) },
      { view, locale, open: index < OPEN, pictureSrc: causeSrc, attributes: filterMarks(line) },
    );
  const items = within(context, {
    entries: view.causes,
    maxBytes: MAX_BYTES.causes,
    render: item,
    src: ({ fingerprint }) => causeSrc(fingerprint),
  });
  const left = view.groups_total - items.length;
  for (const { fingerprint } of view.causes.slice(0, items.length)) listed.add(fingerprint);
  return html`<section class="card" id="causes" aria-labelledby="causes-title">
    <h2 id="causes-title">${texts.rootCauses}</h2>
    <p>${texts.rootCausesIntro}</p>
    ${causeFilters(view, view.causes.slice(0, items.length), locale)}
    <ul class="causes">${items}</ul>
    ${left > 0 && html`<p>${count(texts.leftOutCauses, left)}</p>`}
  </section>`;
}

function detailsOf({ view, read }: Context, { fingerprint, details }: CauseLine): RootCause | null {
  const kept = view.groups.find((cause) => cause.fingerprint === fingerprint);
  return kept ?? (details === undefined ? null : (read(details) as RootCause));
}

/** What a person must check, or advice. */
function othersSection(context: Context, causes: readonly RootCause[], total: number, list: 'review' | 'advice'): Html {
  const { view, locale, causeSrc, listed } = context;
  if (total === 0) return NOTHING;
  const { texts, count } = wordsIn(locale, 'report');
  const names = distinctNames(causes, ({ rule }) => rule);
  // A picture is in the file once: violations on some pages may need review on others.
  const pictureSrc = (fingerprint: string): string | null => (listed.has(fingerprint) ? null : causeSrc(fingerprint));
  const item = (cause: RootCause): Html => {
    const id = `${list}-${cause.fingerprint}`;
    return causeItem({ line: { ...cause, element: names.get(cause)! }, cause }, { view, locale, open: false, pictureSrc, id });
  };
  const items = within(context, {
    entries: causes,
    maxBytes: MAX_BYTES.others,
    render: item,
    src: ({ fingerprint }) => pictureSrc(fingerprint),
  });
  const left = total - items.length;
  const [title, intro] = list === 'review' ? [texts.needsReview, texts.reviewIntro] : [texts.advice, texts.adviceIntro];
  return foldedCard({
    id: list,
    title: `${title} (${count(wordsIn(locale, 'findings').texts.causes, total)})`,
    body: html`<p>${intro}${list === 'review' && hasUncountedStates(view) && ` ${wordsIn(locale, 'findings').texts.statesNotCounted}`}</p>
      <ul class="causes">${items}</ul>
      ${left > 0 && html`<p>${count(texts.leftOutCauses, left)}</p>`}`,
  });
}

/** The result by success criterion, as audits and statements list it. */
function criteria({ view, locale }: Context): Html {
  const { criteria: all = [] } = view;
  const body = html`${criteriaCounts(all, locale)} ${criteriaTable(all, locale)}`;
  return all.length === 0 ? NOTHING : foldedCard({ id: 'criteria', title: wordsIn(locale, 'report').texts.byCriterion.heading, body });
}

interface PagesParts {
  table: Html;
  details: readonly Html[];
  /** Listed pages whose findings are not listed. */
  leftOut: number;
}

interface Numbered {
  page: Extract<ViewPage, { tested: true }>;
  /** Its number in the scan, from 1. */
  at: number;
  findings: PageCauses;
}

function pagesSection(context: Context): PagesParts {
  const { view, locale, pageSrc, read } = context;
  const { texts, count } = wordsIn(locale, 'report');
  const numbered = view.pages.flatMap((page, index): Numbered[] =>
    page.tested && page.findings !== undefined ? [{ page, at: index + 1, findings: read(page.findings) as PageCauses }] : [],
  );
  // The worst pages, if there is no room for all.
  const entries = numbered.toSorted((a, b) => b.page.counts.total - a.page.counts.total);
  const render = (entry: Numbered): Html => pageDetails(context, entry);
  const details = within(context, { entries, maxBytes: MAX_BYTES.findings, render, src: ({ page }) => pageSrc(page.url) });
  const byPage = new Map(details.map((part, index) => [entries[index]!.at, part]));
  const cells = view.pages.map((page, index) => pageRow(page, byPage.has(index + 1) ? `#page-${index + 1}` : null, locale));
  // The rows of a table are counted by their cells.
  const fitting = within(context, { entries: cells, maxBytes: MAX_BYTES.pages, render: (row) => html`${row}` }).length;
  const left = view.pages_total - fitting;
  const list = html`<section class="card" id="pages" aria-labelledby="pages-title">
    <h2 id="pages-title">${texts.pages}</h2>
    ${table({ id: 'page-table', caption: texts.pages, captionHidden: true, columns: pageColumns(locale), rows: cells.slice(0, fitting) })}
    ${left > 0 && html`<p>${count(texts.leftOutPages, left)}</p>`}
  </section>`;
  return { table: list, details: numbered.flatMap(({ at }) => byPage.get(at) ?? []), leftOut: numbered.length - details.length };
}

function pageDetails(context: Context, { page, at, findings }: Numbered): Html {
  const { view, locale, pageSrc } = context;
  return html`<details class="card folded" id="page-${at}">
    <summary><h3 id="page-${at}-title">${at}. ${pageName(page)}</h3></summary>
    <p>${siteLink(page.url)}</p>
    ${page.states !== undefined && html`<p>${wordsIn(locale, 'findings').texts.statesOfPage}:</p>${pageStates(page, locale)}`}
    ${pageFindings({
      ...{ view, page, findings, locale, level: 4, prefix: `page-${at}-`, brief: true },
      pagePictureSrc: pageSrc(page.url),
      pictureSrc: () => null,
      causeHref: (cause) => causeHref(context, cause),
    })}
  </details>`;
}

/** What the reader must know about the test and about this file. */
function about({ report, locale, pictures }: Context, pagesLeft: number): Html {
  const i18n = wordsIn(locale, 'report');
  const { texts, format, count } = i18n;
  const { texts: words } = wordsIn(locale, 'findings');
  const { curbcut, axe_core: axe, browser } = report.tools;
  const { consent, discovery, addresses_left: addressesLeft, pictures_left: untaken } = report;
  const notes = [
    ...(consent === undefined ? [] : [consentSentence(consent, locale)]),
    ...stateLines(report, locale),
    ...leftLines({ addressesLeft, discovery }, i18n, report.scan.options.pages_requested > 1),
    ...(untaken === undefined ? [] : [count(texts.picturesLeft, untaken)]),
    ...(pictures.all > pictures.shown ? [format(words.picturesLeftOut, { n: pictures.all - pictures.shown })] : []),
    ...(pagesLeft > 0 ? [format(words.pagesWithoutFindings, { n: pagesLeft })] : []),
    texts.aboutAutomated,
    texts.aboutCounting,
    texts.aboutScore,
    format(texts.aboutTools, { curbcut, axe, browser }),
    format(texts.aboutScan, { id: report.scan.id }),
  ];
  return html`<section class="card" id="about" aria-labelledby="about-title">
    <h2 id="about-title">${texts.aboutHeading}</h2>
    ${notes.map((note) => html`<p>${note}</p>`)}
  </section>`;
}
