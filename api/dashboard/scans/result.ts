/** The result of a scan that has ended: score, verdict with its thresholds, violations, coverage, options. Pure. */
import type { BaselineDifference, BaselineOutcome, BaselineProblem } from '../../../core/scan/baseline.ts';
import { type Counts, coverageOf } from '../../../core/scan/counts.ts';
import { CRAWL_LABELS, withDefaults } from '../../../core/scan/options.ts';
import { orderedMetadata } from '../../../core/scan/metadata.ts';
import { describeStep, type PrepareStep } from '../../../core/scan/steps.ts';
import { checkThresholds, discoveryIn, notesOf, THRESHOLDS, type ThresholdName, type Thresholds } from '../../../core/scan/thresholds.ts';
import type { Outcome } from '../../../core/scan/outcome.ts';
import { differencePath } from '../../../core/web-paths.ts';
import { resultCard } from '../../../report/html/result.ts';
import { explainScore, foundSentence, type ScoreSentences } from '../../../report/view/verdict.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { isCheck, type ScanRow } from '../../../stores/scans/scan-row.ts';
import { definitions, figure, foldedCard, link, notice, time, type NoticeKind } from '../../web/components.ts';
import { html, NOTHING, type Html, type HtmlValue } from '../../../report/html/html.ts';
import type { ActorNames } from '../names.ts';
import { CONSENT_WORDS, HASH_ROUTE_WORDS, number, originOf, siteLink } from './words.ts';

/** @param pages the violations of each tested page, if every page is known */
export function scanResult(row: ScanRow, pages: readonly Counts[] | undefined): Html {
  const { outcome, options } = row;
  const explained = outcome && explainScore({ outcome, thresholds: options.thresholds, pages }, 'en');
  // The notes of a scan that is done state a coverage below 100 %.
  const coverageStated = row.phase === 'done' && outcome !== null && coverageOf(outcome.pages) < 100;
  return html`${headline(row, explained)} ${outcome?.baseline !== undefined && !isCheck(row) && comparison(row, outcome.baseline)} ${outcome !== null && resultCard({ outcome, thresholds: options.thresholds, passed: row.passed, partial: row.phase === 'canceled', explained: explained!, coverageStated })}`;
}

/** Why the scan ended as it did. */
function headline({ phase, passed, message: stored, options, outcome }: ScanRow, explained: ScoreSentences | null): Html {
  const result = outcome && (explained?.verdict ?? foundSentence(outcome.violations, 'en'));
  const ended = phase === 'failed' ? 'The scan failed.' : phase === 'canceled' ? 'The scan was canceled.' : result;
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
  const next = { failed: AFTER_FAILURE, canceled: AFTER_CANCELLATION }[phase as 'failed' | 'canceled'];
  // The title says the first sentence already.
  const said = message?.startsWith(`${ended} `) ? message.slice(ended!.length + 1) : message;
  const body = next === undefined ? (said ?? undefined) : html`${said !== null && html`<p>${said}</p>`}<p>${next}</p>`;
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
      : html`<p>Compared with ${link('the scan that is the baseline', `/dashboard/scans/${scanId}`)}.${!isPartial && html` ${link('Show the difference', differencePath(id))}`}</p>`;
  return html`<section class="card" aria-labelledby="baseline-title">
    <h2 id="baseline-title">Since the baseline</h2>
    ${problem !== undefined && html`<p>${PROBLEMS[problem]}</p>`} ${difference !== undefined && differenceFigures(difference, isPartial)} ${to}
  </section>`;
}

const PROBLEMS: Readonly<Record<BaselineProblem, string>> = {
  not_found: 'There is no done scan to compare with.',
  not_stored: 'The scans were not compared: the report of the baseline is not stored any more.',
  not_comparable: 'The scans were not compared: the report of the baseline is too large, or was made by another version.',
  scans_differ: 'The scans were made with other rules or checks, so that new violations may not be the site’s.',
};

/** Pages are missing in a partial report: its numbers are no good news. */
function differenceFigures(
  { new: added, newKnown = 0, fixed, unchanged, onNewPages, notTested }: BaselineDifference,
  isPartial: boolean,
): Html {
  const good = isPartial ? undefined : 'good';
  return html`<div class="columns">
      ${figure({ value: number(added), label: 'new violations', kind: added > 0 ? 'bad' : good })}
      ${figure({ value: number(fixed), label: 'fixed violations', kind: fixed > 0 ? good : undefined })}
      ${figure({ value: number(unchanged), label: 'unchanged violations' })}
    </div>
    ${newKnown > 0 && html`<p>${number(newKnown)} of the new violations are known issues, which the threshold does not count.</p>`}
    ${onNewPages > 0 && html`<p>${number(onNewPages)} more, on pages that the baseline did not test, have causes that it has too.</p>`}
    ${notTested > 0 && html`<p>${number(notTested)} violations of the baseline are on pages that this scan did not test: it is unknown whether they are fixed.</p>`}`;
}

const AFTER_FAILURE =
  'Check that the address opens in a browser without signing in, then scan again. If that fails too, give the scan ID below to your administrator.';

const AFTER_CANCELLATION = 'Reserved credits that were not charged were returned.';

const unit = (name: ThresholdName, value: number | string): string =>
  typeof value === 'string' ? value : name === 'minCoverage' ? `${number(value)} %` : number(value);

/** What the scan says about the version of the site. */
export function metadataList({ metadata = {} }: ScanRow): Html {
  const pairs = orderedMetadata(metadata);
  if (pairs.length === 0) return NOTHING;
  return html`<section class="card" aria-labelledby="metadata-title">
    <h2 id="metadata-title">Metadata</h2>
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
    return allowed === undefined ? [] : [`${THRESHOLDS[name].label}: ${unit(name, allowed)}`];
  });
  const rows: [HtmlValue, HtmlValue][] = [
    ['Starts at', siteLink(options.url)],
    [
      'Pages',
      pagesReserved < pagesRequested && pagesReserved > 0
        ? `${number(pagesReserved)} of ${number(pagesRequested)} requested, because credits were short`
        : `at most ${number(pagesRequested)}`,
    ],
    ['Conformance', `WCAG ${options.wcagVersion}, level ${options.wcagLevel}`],
    ['Thresholds', set.length === 0 ? 'None' : set.join('; ')],
    ['Language of the reports', wordsIn(options.locale, 'site').texts.name],
    ...globs('Only pages that match', crawl.include),
    ...globs('Not pages that match', crawl.exclude),
    ...(hashRoutes === 'all' ? [['Fragments that are pages', HASH_ROUTE_WORDS[hashRoutes]] as [string, string]] : []),
    ...globs(CRAWL_LABELS.hosts, crawl.hosts),
    ...globs(CRAWL_LABELS.urls, firstOf(crawl.urls)),
    ...globs(CRAWL_LABELS.rewriteHost, crawl.rewriteHost === '' ? [] : [crawl.rewriteHost]),
    ...(crawl.sitemap ? [] : [['Sitemaps', 'ignored'] as [string, string]]),
    ...(crawl.respectRobots ? [] : [['robots.txt', 'ignored'] as [string, string]]),
    ...(consent === 'keep' ? [] : [['Dialog for consent', CONSENT_WORDS[consent]] as [string, string]]),
    ...(prepare.length === 0 ? [] : [['Steps before the pages', stepList(prepare)] as [string, Html]]),
    ['Origin', who === null ? text : `${text}: ${who}`],
    ...(queue === undefined ? [] : [['Queue', queue] as [string, string]]),
    ['Submitted', time(createdAt)],
    ...(finishedAt === null ? [] : [['Ended', time(finishedAt)] as [string, Html]]),
    ['Scan ID', html`<code>${id}</code>`],
  ];
  return foldedCard({ id: 'options', title: 'Options', body: definitions(rows) });
}

const stepList = (steps: readonly PrepareStep[]): Html =>
  html`<ol>${steps.map((step) => html`<li><code>${describeStep(step)}</code></li>`)}</ol>`;

const URLS_SHOWN = 20;
const firstOf = (urls: readonly string[]): string[] =>
  urls.length <= URLS_SHOWN ? [...urls] : [...urls.slice(0, URLS_SHOWN), `and ${number(urls.length - URLS_SHOWN)} more`];

const globs = (term: string, patterns: readonly string[]): [string, string][] =>
  patterns.length === 0 ? [] : [[term, patterns.join(', ')]];
