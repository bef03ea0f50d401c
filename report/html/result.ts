/** The numbers of a scan that has ended: score, violations, coverage, what the score is made of, thresholds. Pure. */
import { type Counts, coverageOf } from '../../core/scan/counts.ts';
import { DEFAULT_LOCALE, type Locale } from '../../core/scan/locales.ts';
import type { Outcome } from '../../core/scan/outcome.ts';
import { checkThresholds, type Thresholds } from '../../core/scan/thresholds.ts';
import { rowsOfThresholds, type ScoreSentences } from '../view/verdict.ts';
import { wordsIn } from '../words/words.ts';
import { figure, table } from './blocks.ts';
import { badge, severityCounts } from './elements.ts';
import { html, type Html, NOTHING } from './html.ts';

export interface ResultOptions {
  outcome: Outcome;
  thresholds: Thresholds;
  passed: boolean | null;
  /** Of a canceled scan. The numbers of a partial report are no verdict: no threshold counts as met. */
  partial: boolean;
  explained: ScoreSentences;
  locale?: Locale;
}

export function resultCard({ outcome, thresholds, passed, partial, explained, locale = DEFAULT_LOCALE }: ResultOptions): Html {
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
    ${severityCounts({ critical, serious, moderate, minor }, locale)} ${withoutKnown(outcome, partial, locale)} ${coverage(outcome, partial, locale)}
    <details>
      <summary>${words.scoreExplained}</summary>
      <p>${explained.score} ${explained.counting}</p>
    </details>
    ${!partial && thresholdTable(thresholds, outcome, locale)}
  </section>`;
}

function withoutKnown({ known }: Outcome, partial: boolean, locale: Locale): Html | false {
  if (known === undefined) return false;
  const { texts, format } = wordsIn(locale, 'report');
  const text = partial ? wordsIn(locale, 'findings').texts.withoutKnown : texts.withoutKnown;
  return html`<p class="hint">${format(text, { score: known.score, violations: known.violations.total })}</p>`;
}

/** If it is below 100 %, the sentence above about the verdict states the coverage of a scan that is done. */
function coverage({ pages: { scanned, failed } }: Outcome, partial: boolean, locale: Locale): Html | false {
  const percent = coverageOf({ scanned, failed });
  if (!partial && percent < 100) return false;
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
