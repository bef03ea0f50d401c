/** The result of a public scan, from its view: the score, the violations by root cause, and what a person must check. */
import { causeTexts, type CauseText } from '../../../report/causes/element-names.ts';
import { foundBy, reviewText, ruleText } from '../../../report/rule-texts/rule-texts.ts';
import { criteriaText, otherStandardsText } from '../../../report/rules/success-criteria.ts';
import { standardsInReports } from '../../../report/rules/rules.ts';
import type { RootCause } from '../../../report/schema/root-cause.ts';
import { isIncomplete } from '../../../report/view/gaps.ts';
import { type ReportView, ruleOf } from '../../../report/view/schema.ts';
import type { Locale } from '../../../core/scan/locales.ts';
import { pictureName } from '../../scans/scan-views.ts';
import * as ui from '../../web/components.ts';
import { attributes, html, type Html, NOTHING } from '../../../report/html/html.ts';
import { wordsIn } from '../../../report/words/words.ts';

export interface ResultOptions {
  view: ReportView;
  /** The language of the page; the scan may have had another one. */
  locale: Locale;
  /** The address of a picture by its name. */
  pictureHref(name: string): string;
}

export function resultBody(options: ResultOptions): Html {
  const { view, locale } = options;
  const { texts, format, count } = wordsIn(locale, 'publicPages');
  const { result } = texts;
  const { total } = view.counts;
  const verdict = total === 0 ? result.none : { title: count(wordsIn(locale, 'report').texts.found, total), text: result.foundText };
  // The start page, which may be at http:// although the scan was asked for https://.
  const { url } = view.pages[0] ?? view.scan;
  return html`<h1>${format(result.title, { site: ui.siteName(url) })}</h1>
    <p>${ui.externalLink(url, url)}<br>${testedOn(view, locale)}</p>
    <div class="summary">
      <div class="summary-score">${score(view.score.value, locale)}</div>
      <div>
        <h2>${verdict.title}</h2>
        <p>${verdict.text}</p>
        ${ui.severityCounts(view.counts, locale)}
        <p class="small soft">${wordsIn(locale, 'report').texts.disclaimer}</p>
      </div>
    </div>
    ${gaps(options)} ${total > 0 && findings(options)}
    ${view.review_groups.length > 0 && review(options)}`;
}

function testedOn(view: ReportView, locale: Locale): Html {
  return ui.withPart(wordsIn(locale, 'report').texts.testedOn, 'date', ui.time(view.scan.finished_at, locale));
}

/** The score as a figure, and how far up a ramp it is. The drawing repeats the figure, so it has no name. */
function score(value: number, locale: Locale): Html {
  const { texts, number } = wordsIn(locale, 'report');
  const x = 2 * value;
  const y = 46 - 0.2 * x;
  return html`${ui.figure({ value: number(value), of: texts.outOf, label: texts.score })}
    <svg class="ramp" viewBox="0 0 212 54" width="212" height="54" aria-hidden="true" focusable="false">
      <path class="ramp-track" d="M6 46 206 6V52H6z" />
      <path class="ramp-fill" d="M6 46 ${6 + x} ${y}V52H6z" />
      <circle class="ramp-dot" cx="${6 + x}" cy="${y}" r="5.5" />
    </svg>
    <p class="small soft">${wordsIn(locale, 'publicPages').texts.result.scoreMeaning}</p>`;
}

/** What may have been missed on the page. */
function gaps({ view, locale }: ResultOptions): Html {
  const { texts, count } = wordsIn(locale, 'publicPages');
  const found = view.pages.flatMap((page) => (page.tested && isIncomplete(page) ? [page] : []));
  if (found.length === 0) return NOTHING;
  const words = wordsIn(locale, 'report').texts;
  const total = found.reduce((sum, { frames_total }) => sum + frames_total, 0);
  return ui.notice({
    kind: 'warn',
    id: 'gaps',
    title: texts.result.gapsTitle,
    body: html`<ul>
      ${found.flatMap(({ caveats }) => caveats).map(({ kind, message }) => html`<li>${words.caveats[kind] ?? message}</li>`)}
      ${total > 0 && html`<li>${count(texts.result.frames, total)}</li>`}
      ${found
        .flatMap(({ frames_untested }) => frames_untested)
        .map(
          ({ url, path, reason, message }) =>
            html`<li><code translate="no">${url || path.join(' >>> ')}</code>: ${words.frameReasons[reason] ?? message}</li>`,
        )}
    </ul>`,
  });
}

function findings(options: ResultOptions): Html {
  const { view, locale } = options;
  const { texts, count } = wordsIn(locale, 'publicPages');
  const more = view.groups_total - view.groups.length;
  return html`<section aria-labelledby="fix">
    <h2 id="fix">${texts.result.fixTitle}</h2>
    <p>${texts.result.fixIntro}</p>
    ${findingsOf(view.groups, 'cause', options)}
    ${more > 0 && html`<p>${count(texts.result.moreCauses, more)}</p>`}
    ${everyElement(options)}
  </section>`;
}

function review(options: ResultOptions): Html {
  const { view, locale } = options;
  const { texts, count } = wordsIn(locale, 'publicPages');
  const more = view.review_groups_total - view.review_groups.length;
  return html`<section aria-labelledby="review">
    <h2 id="review">${wordsIn(locale, 'report').texts.needsReview}</h2>
    <p>${texts.result.reviewIntro}</p>
    ${findingsOf(view.review_groups, 'review', options)}
    ${more > 0 && html`<p>${count(texts.result.moreCauses, more)}</p>`}
  </section>`;
}

/** Root causes. Those with the same title are told apart by their element. */
function findingsOf(causes: readonly RootCause[], prefix: 'cause' | 'review', options: ResultOptions): Html[] {
  const texts = causeTexts(causes, options.locale);
  return causes.map((cause, at) => {
    const item = { cause, text: texts.get(cause)!, id: `${prefix}-${at + 1}` };
    return prefix === 'cause' ? violation(item, options) : undecided(item, options);
  });
}

interface Item {
  cause: RootCause;
  text: CauseText;
  id: string;
}

/** The language of a text of the scan, if the page has another one. */
const langOf = (foreign: boolean, { view, locale }: ResultOptions): string | undefined =>
  foreign && view.scan.options.locale !== locale ? view.scan.options.locale : undefined;

/** A root cause of violations. Its texts are in the language of the page; those of unknown rules in the language of the scan. */
function violation(item: Item, options: ResultOptions): Html {
  const { texts, count } = wordsIn(options.locale, 'report');
  const { cause, text, id } = item;
  const { why, fix, foreign } = text;
  const lang = langOf(foreign, options);
  return html`<article class="finding" aria-labelledby="${id}">
    <p class="finding-head">${ui.severityBadge(cause.impact, options.locale)} <span class="soft">${count(texts.elements, cause.elements)}</span></p>
    ${heading(item, lang)}
    <div class="finding-text">
      <div><h4>${texts.whyItMatters}</h4><p${attributes({ lang })}>${foreign ? ruleOf(options.view, cause.rule).description : why}</p></div>
      ${!foreign && html`<div><h4>${texts.howToFix}</h4><p>${fix}</p></div>`}
    </div>
    ${elementParts(item, options)}
  </article>`;
}

/** Elements that a person must check. It has no severity, and says what to look at instead of what to fix. */
function undecided(item: Item, options: ResultOptions): Html {
  const { view, locale } = options;
  const { texts, count } = wordsIn(locale, 'report');
  const { cause, text, id } = item;
  const reasons = foundBy(cause.example.failure_summary, view.scan.options.locale, true);
  return html`<article class="finding finding-review" aria-labelledby="${id}">
    <p class="finding-head">${ui.badge('note', wordsIn(locale, 'publicPages').texts.result.reviewMark)} <span class="soft">${count(texts.elements, cause.elements)}</span></p>
    ${heading(item, langOf(text.foreign, options))}
    <div class="finding-text">
      <div><h4>${texts.whatToCheck}</h4><p>${reviewText(cause.rule, locale)}</p></div>
      ${
        reasons.length > 0 &&
        html`<div>
          <h4>${texts.undecided}</h4>
          <ul>${reasons.map(({ text, lang }) => html`<li${attributes({ lang: lang === locale ? undefined : (lang ?? langOf(true, options)) })}>${text}</li>`)}</ul>
        </div>`
      }
    </div>
    ${elementParts(item, options)}
  </article>`;
}

const heading = ({ text: { title, element }, id }: Item, lang: string | undefined): Html =>
  html`<h3${attributes({ id, lang })}>${title}${element !== undefined && html` <code translate="no">${element}</code>`}</h3>`;

/** The element, where it is, its colours, and what standards say. */
function elementParts({ cause, text, id }: Item, { view, locale, pictureHref }: ResultOptions): Html {
  const { texts, format } = wordsIn(locale, 'report');
  const { texts: page } = wordsIn(locale, 'publicPages');
  const { example, fingerprint } = cause;
  const picture = view.pictures.find((one) => one.fingerprint === fingerprint);
  return html`<h4>${texts.element}</h4>
    ${picture !== undefined && ui.elementPicture({ src: pictureHref(pictureName(fingerprint)), alt: format(page.result.pictureAlt, { help: text.title }), picture })}
    ${example.contrast !== undefined && ui.contrast(example.contrast, locale)}
    ${ui.code({ id: `${id}-element`, text: example.html, label: texts.element, locale })}
    <h4>${texts.selector}</h4>
    ${ui.code({ id: `${id}-selector`, text: example.selector, label: texts.selector, inline: true, locale })}
    ${example.frame_path.length > 0 && html`<p class="small">${texts.inFrame} <code translate="no">${example.frame_path.join(' ')}</code></p>`}
    ${example.shadow_path.length > 0 && html`<p class="small">${texts.inShadow} <code translate="no">${example.shadow_path.join(' ')}</code></p>`}
    <p class="small finding-foot">${cause.wcag.length > 0 && html`${page.result.criteria}: ${criteriaText(cause.wcag, locale)}. `}${otherStandardsText(
      standardsInReports(cause.rule),
    )
      .map((standard) => `${standard}. `)
      .join('')}${ui.externalLink(format(texts.aboutRule, { rule: cause.rule }), cause.help_url, { hreflang: 'en' })}</p>`;
}

/** Every failing element, as a table in a part that is closed at first. */
function everyElement({ view, locale }: ResultOptions): Html {
  const { texts, count, number } = wordsIn(locale, 'publicPages');
  const { issues, issues_total: total } = view;
  if (issues.length <= view.groups.length) return NOTHING;
  return html`<details id="all-elements">
    <summary>${count(texts.result.all, total)}</summary>
    ${issues.length < total && html`<p>${number(issues.length)} / ${number(total)}</p>`}
    ${ui.table({
      id: 'elements',
      caption: texts.result.fixTitle,
      captionHidden: true,
      columns: [{ text: texts.result.fixTitle }, { text: wordsIn(locale, 'report').texts.selector }],
      rows: issues.map(({ rule, impact, help, selector }) => {
        const known = ruleText(rule, locale);
        const lang = known === null && view.scan.options.locale !== locale ? view.scan.options.locale : undefined;
        return [
          html`${ui.severityIcon(impact)} ${ui.visuallyHidden(wordsIn(locale, 'report').texts.severities[impact])} <span${attributes({ lang })}>${known?.help ?? help}</span>`,
          html`<code translate="no">${selector}</code>`,
        ];
      }),
    })}
  </details>`;
}
