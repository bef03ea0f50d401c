/** The numbers of a scan that has ended: score, violations, coverage, what the score is made of, thresholds, what to fix to pass. Pure. */
import { type Counts, coverageOf } from '../../core/scan/counts.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { currentLocale } from '../words/current.ts';
import type { Outcome } from '../../core/scan/outcome.ts';
import { checkThresholds, THRESHOLDS, type Thresholds } from '../../core/scan/thresholds.ts';
import type { ReportView } from '../view/schema.ts';
import { rowsOfThresholds, type ScoreSentences, toPassSentence } from '../view/verdict.ts';
import { wordsIn } from '../words/words.ts';
import { card, figure, table } from './blocks.ts';
import { titleOf } from './cause.ts';
import { badge, link, severityCounts, severityIcon } from './elements.ts';
import { attributes, html, type Html, NOTHING } from './html.ts';

export interface ResultOptions {
  outcome: Outcome;
  thresholds: Thresholds;
  passed: boolean | null;
  /** Of a canceled scan. The numbers of a partial report are no verdict: no threshold counts as met. */
  partial: boolean;
  explained: ScoreSentences;
  /** Whether a sentence above states a coverage below 100 %. */
  coverageStated?: boolean;
  /** How many elements people have decided about. */
  decided?: ReportView['decided'];
  /** The address of the known issues and decisions. */
  knownHref?: string;
  locale?: Locale;
}

export function resultCard(options: ResultOptions): Html {
  const { outcome, thresholds, passed, partial, explained, coverageStated = false, locale = currentLocale() } = options;
  const { texts, number } = wordsIn(locale, 'report');
  const { texts: words } = wordsIn(locale, 'findings');
  const { score, violations } = outcome;
  const { critical, serious, moderate, minor }: Counts = violations;
  return html`<section class="card" aria-labelledby="result-title">
    <h2 id="result-title">${partial ? words.partialResult : texts.result}</h2>
    <div class="figures">
      ${figure({ value: number(score), of: texts.outOf, label: texts.score, kind: passed === false ? 'bad' : passed ? 'good' : 'note' })}
      ${figure({ value: number(violations.total), label: texts.violations })}
    </div>
    ${severityCounts({ critical, serious, moderate, minor }, locale)} ${withoutKnown(options, locale)}
    ${!coverageStated && coverage(outcome, locale)}
    ${explained.surprise !== null && html`<p class="hint" id="surprise">${explained.surprise}</p>`}
    <details>
      <summary>${words.scoreExplained}</summary>
      <p>${explained.score}${explained.surprise === null && ` ${explained.counting}`}</p>
    </details>
    ${!partial && thresholdTable(thresholds, outcome, locale)}
  </section>`;
}

/** What the scan has without known issues and decisions. */
function withoutKnown({ outcome: { known, violations }, partial, decided, knownHref }: ResultOptions, locale: Locale): Html | false {
  if (known === undefined) return false;
  const { texts, format } = wordsIn(locale, 'report');
  const { texts: words } = wordsIn(locale, 'findings');
  const { scoreWithoutDecisions: score } = known;
  const isDecidedOnly = score !== undefined && known.violations.total === violations.total;
  const numbers = { score: known.score, violations: known.violations.total };
  const said = [
    !isDecidedOnly && format(partial ? words.withoutKnown : texts.withoutKnown, numbers),
    score !== undefined && format(decided === undefined ? texts.withoutDecisions : texts.decisions, { ...decided, score }),
  ];
  return html`<p class="hint">${said.filter(Boolean).join(' ')}${knownHref !== undefined && html` ${link(words.states.known, knownHref)}`}</p>`;
}

function coverage({ pages: { scanned, failed } }: Outcome, locale: Locale): Html {
  const percent = coverageOf({ scanned, failed });
  const { texts, format } = wordsIn(locale, 'report');
  const pages = format(wordsIn(locale, 'findings').texts.couldBeTested, { n: scanned, m: scanned + failed });
  return html`<p class="hint">${format(texts.coverage, { percent })}: ${pages}</p>`;
}

function thresholdTable(limits: Thresholds, outcome: Outcome, locale: Locale): Html {
  const rows = rowsOfThresholds(checkThresholds(limits, outcome), wordsIn(locale, 'report'));
  if (rows.length === 0) return NOTHING;
  const { texts } = wordsIn(locale, 'report');
  return html`<details id="thresholds-fold">
    <summary>${wordsIn(locale, 'findings').texts.thresholdsFold}</summary>
    ${table({
      id: 'thresholds',
      caption: texts.thresholdsHeading,
      captionHidden: true,
      columns: [texts.threshold, texts.allowed, texts.measured, texts.result].map((text) => ({ text })),
      rows: rows.map(({ name, allowed, measured, met }) => [
        name,
        allowed,
        measured,
        met ? badge('good', texts.met) : badge('bad', texts.missed),
      ]),
    })}
  </details>`;
}

/** What the card and the list of leading causes read. */
type NamedCauses = Pick<ReportView, 'to_pass' | 'causes' | 'cause_rules'>;

/** As many of the causes to fix as keep the page short on a phone. */
const FIXES_SHOWN = 5;

/**
 * What to fix so that a scan passes. Views of earlier versions do not say it, and thresholds of later ones have no words here.
 * @param href the address of a root cause; null if it is not listed
 */
export function fixToPassCard(view: NamedCauses, href: CauseLinks['href'], locale: Locale = currentLocale()): Html {
  const { to_pass: toPass } = view;
  if (toPass === undefined || !toPass.left.every(({ name }) => Object.hasOwn(THRESHOLDS, name))) return NOTHING;
  const { texts, count } = wordsIn(locale, 'findings');
  // Where they do not suffice, they are the first of the list of all root causes.
  const open = toPass.needed === toPass.causes.length ? FIXES_SHOWN : 0;
  const [first, more] = [toPass.causes.slice(0, open), toPass.causes.slice(open)];
  return card({
    id: 'fix-to-pass',
    title: wordsIn(locale, 'report').texts.fixToPass,
    body: html`<p>${toPassSentence(toPass, locale)}</p>
      ${first.length > 0 && causeLinks(view, { causes: first, href, locale })}
      ${
        more.length > 0 &&
        html`<details>
          <summary>${count(open === 0 ? texts.causes : texts.furtherCauses, more.length)}</summary>
          ${causeLinks(view, { causes: more, href, locale, start: open + 1 })}
        </details>`
      }`,
  });
}

interface CauseLinks {
  causes: ReportView['leading']['causes'];
  href(fingerprint: string): string | null;
  locale?: Locale;
  /** The number of the first one. */
  start?: number;
  id?: string;
}

/** Root causes in lines. Each is a link to the cause, unless it is not listed. */
export function causeLinks(view: NamedCauses, { causes, href, locale = currentLocale(), start = 1, id }: CauseLinks): Html {
  const { texts, count } = wordsIn(locale, 'report');
  return html`<ol${attributes({ id, start: start === 1 ? undefined : start })}>
    ${causes.map(({ fingerprint, rule, elements }) => {
      const line = view.causes.find((one) => one.fingerprint === fingerprint);
      const title = titleOf(view, rule, locale);
      const address = href(fingerprint);
      const name = html`${title} ${line !== undefined && html`<code>${line.element}</code>`}`;
      const named = line === undefined || address === null ? name : link(name, address);
      return html`<li>${line !== undefined && severityIcon(line.impact)} ${named} (${count(texts.elements, elements)})</li>`;
    })}
  </ol>`;
}
