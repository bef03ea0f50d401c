/** The result of a scan that has ended: score, verdict with its thresholds, violations, coverage, options. Pure. */
import type { BaselineDifference, BaselineOutcome, BaselineProblem } from '../../../core/scan/baseline.ts';
import { coverageOf } from '../../../core/scan/counts.ts';
import { CRAWL_LABELS, OPTION_LABELS, withDefaults } from '../../../core/scan/options.ts';
import { orderedMetadata } from '../../../core/scan/metadata.ts';
import { describeStep, type PrepareStep } from '../../../core/scan/steps.ts';
import { checkThresholds, discoveryIn, notesOf, THRESHOLDS, type ThresholdName, type Thresholds } from '../../../core/scan/thresholds.ts';
import type { Impact } from '../../../core/scan/impacts.ts';
import { DEFAULT_LOCALE } from '../../../core/scan/locales.ts';
import type { Outcome } from '../../../core/scan/outcome.ts';
import { differencePath, KNOWN_ISSUES_PATH, scanPath } from '../../../core/web-paths.ts';
import { resultCard } from '../../../report/html/result.ts';
import type { ReportView } from '../../../report/view/schema.ts';
import { explainScore, foundSentence, pageCountsOf, type ScoreSentences } from '../../../report/view/verdict.ts';
import { currentLocale } from '../../../report/words/current.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { isCheck, type ScanRow } from '../../../stores/scans/scan-row.ts';
import { definitions, figure, foldedCard, link, notice, time, type NoticeKind } from '../../web/components.ts';
import { addressOf, html, NOTHING, type Html, type HtmlValue } from '../../../report/html/html.ts';
import type { ActorNames } from '../names.ts';
import { CONSENT_WORDS, HASH_ROUTE_WORDS, number, originOf, siteLink } from './words.ts';
import { english, m, t, tr } from '../../web/texts.ts';

/** @param view of the report, if it can be read */
export function scanResult(row: ScanRow, view: ReportView | undefined): Html {
  const { outcome, options, site } = row;
  const pages = view && pageCountsOf(view);
  const explained = outcome && explainScore({ outcome, thresholds: options.thresholds, pages }, currentLocale());
  // The notes of a scan that is done, which are English, state a coverage below 100 %.
  const coverageStated = currentLocale() === DEFAULT_LOCALE && row.phase === 'done' && outcome !== null && coverageOf(outcome.pages) < 100;
  return html`${headline(row, explained)} ${outcome?.baseline !== undefined && !isCheck(row) && comparison(row, outcome.baseline)} ${outcome !== null && resultCard({ outcome, thresholds: options.thresholds, passed: row.passed, partial: row.phase === 'canceled', explained: explained!, coverageStated, decided: view?.decided, knownHref: addressOf(KNOWN_ISSUES_PATH, { site }) })}`;
}

/** Why the scan ended as it did. */
function headline({ phase, passed, message: stored, options, outcome }: ScanRow, explained: ScoreSentences | null): Html {
  const result = outcome && (explained?.verdict ?? foundSentence(outcome.violations, currentLocale()));
  const end = ENDS[phase as keyof typeof ENDS] as (typeof ENDS)[keyof typeof ENDS] | undefined;
  const ended = end === undefined ? result : tr(end.text);
  // The sentence about the verdict names the missed thresholds.
  const message = phase === 'done' && outcome !== null ? notesText(options.thresholds, outcome, stored) : stored;
  if (ended === null && message === null) return NOTHING;
  const kind: NoticeKind =
    phase === 'failed' || passed === false
      ? 'bad'
      : passed === true && message === null
        ? 'good'
        : phase === 'canceled' || message !== null
          ? 'warn'
          : 'note';
  // The title says the first sentence already.
  const said = message !== null && english(end && message.startsWith(`${end.text} `) ? message.slice(end.text.length + 1) : message);
  const body = end === undefined ? said || undefined : html`${said && html`<p>${said}</p>`}<p>${tr(end.next)}</p>`;
  return notice({ kind, title: ended ?? undefined, body, id: 'outcome' });
}

function notesText(thresholds: Thresholds, outcome: Outcome, stored: string | null): string | null {
  const missed = checkThresholds(thresholds, outcome).filter(({ met }) => !met);
  return [...notesOf(missed, outcome), discoveryIn(stored)].filter(Boolean).join(' ') || null;
}

/** What differs from the baseline, before everything else: the gate is about it. */
function comparison({ id, phase }: ScanRow, { scanId, problem, difference }: BaselineOutcome): Html {
  const isPartial = phase === 'canceled';
  const to =
    scanId === undefined
      ? NOTHING
      : html`<p>${t`Compared with ${link(t`the scan that is the baseline`, scanPath(scanId))}.`}${!isPartial && html` ${link(t`Show the difference`, differencePath(id))}`}</p>`;
  return html`<section class="card" aria-labelledby="baseline-title">
    <h2 id="baseline-title">${t`Since the baseline`}</h2>
    ${problem !== undefined && html`<p>${tr(PROBLEMS[problem])}</p>`} ${difference !== undefined && differenceFigures(difference, isPartial)} ${to}
  </section>`;
}

const PROBLEMS: Readonly<Record<BaselineProblem, string>> = {
  not_found: m`There is no done scan to compare with.`,
  not_stored: m`The scans were not compared: the report of the baseline is not stored any more.`,
  not_comparable: m`The scans were not compared: the report of the baseline is too large, or was made by another version.`,
  scans_differ: m`The scans were made with other rules or checks, so that new violations may not be the site’s.`,
};

/** Pages are missing in a partial report: its numbers are no good news. */
function differenceFigures(
  { new: added, newKnown = 0, fixed, unchanged, onNewPages, notTested }: BaselineDifference,
  isPartial: boolean,
): Html {
  const good = isPartial ? undefined : 'good';
  return html`<div class="columns">
      ${figure({ value: number(added), label: t`new violations`, kind: added > 0 ? 'bad' : good })}
      ${figure({ value: number(fixed), label: t`fixed violations`, kind: fixed > 0 ? good : undefined })}
      ${figure({ value: number(unchanged), label: t`unchanged violations` })}
    </div>
    ${newKnown > 0 && html`<p>${t`${newKnown} of the new violations are known issues, which the threshold does not count.`}</p>`}
    ${onNewPages > 0 && html`<p>${t`${onNewPages} more, on pages that the baseline did not test, have causes that it has too.`}</p>`}
    ${notTested > 0 && html`<p>${t`${notTested} violations of the baseline are on pages that this scan did not test: it is unknown whether they are fixed.`}</p>`}`;
}

const ENDS = {
  failed: {
    text: m`The scan failed.`,
    next: m`Check that the address opens in a browser without signing in, then scan again. If that fails too, give the scan ID below to your administrator.`,
  },
  canceled: { text: m`The scan was canceled.`, next: m`Reserved credits that were not charged were returned.` },
};

const unit = (name: ThresholdName, value: number | Impact): string =>
  typeof value === 'string'
    ? wordsIn(currentLocale(), 'report').texts.severities[value]
    : name === 'minCoverage'
      ? `${number(value)} %`
      : number(value);

/** What the scan says about the version of the site. */
export function metadataList({ metadata = {} }: ScanRow): Html {
  const pairs = orderedMetadata(metadata);
  if (pairs.length === 0) return NOTHING;
  return html`<section class="card" aria-labelledby="metadata-title">
    <h2 id="metadata-title">${t`Metadata`}</h2>
    ${definitions(pairs.map(([key, value]): [HtmlValue, HtmlValue] => [key, siteLink(value)]))}
  </section>`;
}

/** How the scan was made, and by whom. */
export function optionList(row: ScanRow, names: ActorNames): Html {
  const { options, pagesRequested, pagesReserved, createdAt, finishedAt, id, queue } = row;
  // A scan of an earlier version lacks some rules.
  const { thresholds: limits, crawl } = withDefaults(options);
  const { consent, hashRoutes, prepare } = crawl;
  const { text, who } = originOf(row, names);
  const set = (Object.keys(THRESHOLDS) as ThresholdName[]).flatMap((name) => {
    const allowed = limits[name];
    return allowed === undefined ? [] : [`${tr(THRESHOLDS[name].label)}: ${unit(name, allowed)}`];
  });
  const rows: [HtmlValue, HtmlValue][] = [
    [t`Starts at`, siteLink(options.url)],
    [
      t`Pages`,
      pagesReserved < pagesRequested && pagesReserved > 0
        ? t`${pagesReserved} of ${pagesRequested} requested, because credits were short`
        : t`at most ${pagesRequested}`,
    ],
    [t`Conformance`, t`WCAG ${options.wcagVersion}, level ${options.wcagLevel}`],
    [t`Thresholds`, set.length === 0 ? t`None` : set.join('; ')],
    [tr(OPTION_LABELS.locale), wordsIn(options.locale, 'site').texts.name],
    ...globs(tr(CRAWL_LABELS.include), crawl.include),
    ...globs(tr(CRAWL_LABELS.exclude), crawl.exclude),
    ...(hashRoutes === 'all' ? [[tr(CRAWL_LABELS.hashRoutes), tr(HASH_ROUTE_WORDS[hashRoutes])] as [string, string]] : []),
    ...globs(tr(CRAWL_LABELS.hosts), crawl.hosts),
    ...globs(tr(CRAWL_LABELS.urls), firstOf(crawl.urls)),
    ...globs(tr(CRAWL_LABELS.rewriteHost), crawl.rewriteHost === '' ? [] : [crawl.rewriteHost]),
    ...(crawl.sitemap ? [] : [[t`Sitemaps`, t`ignored`] as [string, string]]),
    ...(crawl.respectRobots ? [] : [['robots.txt', t`ignored`] as [string, string]]),
    ...(consent === 'keep' ? [] : [[t`Dialog for consent`, tr(CONSENT_WORDS[consent])] as [string, string]]),
    ...(prepare.length === 0 ? [] : [[tr(CRAWL_LABELS.prepare), stepList(prepare)] as [string, Html]]),
    [t`Origin`, who === null ? text : `${text}: ${who}`],
    ...(queue === undefined ? [] : [[t`Queue`, queue] as [string, string]]),
    [t`Submitted`, time(createdAt)],
    ...(finishedAt === null ? [] : [[t`Ended`, time(finishedAt)] as [string, Html]]),
    [t`Scan ID`, html`<code>${id}</code>`],
  ];
  return foldedCard({ id: 'options', title: t`Options`, body: definitions(rows) });
}

const stepList = (steps: readonly PrepareStep[]): Html =>
  html`<ol>${steps.map((step) => html`<li><code>${describeStep(step)}</code></li>`)}</ol>`;

const URLS_SHOWN = 20;
const firstOf = (urls: readonly string[]): string[] =>
  urls.length <= URLS_SHOWN ? [...urls] : [...urls.slice(0, URLS_SHOWN), t`and ${urls.length - URLS_SHOWN} more`];

const globs = (term: string, patterns: readonly string[]): [string, string][] =>
  patterns.length === 0 ? [] : [[term, patterns.join(', ')]];
