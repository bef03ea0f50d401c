/**
 * Texts about axe-core's rules and ours in every language: what a rule asks for, why it matters and what to do. Help and description
 * are axe-core's own (`words/LOCALE/axe.json`, written by tools/rule-texts.ts; MPL-2.0) where it has them in the language; the other
 * texts are ours (`words/LOCALE/rules.json`). A language is loaded when it is first used.
 */
import { createRequire } from 'node:module';
import type { Locale } from '../../core/scan/locales.ts';

export interface RuleText {
  /** One sentence: what the rule asks for. */
  help: string;
  /** What the rule checks. */
  description: string;
  /** Who is affected and how, in one or two sentences. */
  why: string;
  /** What to do, in one or two sentences. */
  fix: string;
}

type Pair = [string, string];

/** A generated file: help and description by rule. */
export interface AxeTexts {
  source: string;
  rules: Record<string, Pair>;
}

/** Our own texts: help and description of rules that axe-core does not have, at all or in the language; why and fix by advice. */
export interface OwnTexts {
  rules: Record<string, Pair>;
  /** What our own rules say about an element. */
  messages: Record<string, string>;
  advice: Record<string, Pair>;
}

const require = createRequire(import.meta.url);
const loaded = new Map<Locale, Map<string, RuleText>>();

/** Returns the texts about a rule, or null if there is no such rule: exports of pods may name any rule. */
export function ruleText(rule: string, locale: Locale): RuleText | null {
  return textsOf(locale).get(rule) ?? null;
}

/** What a rule of ours says about an element. */
export const ownMessage = (rule: string, locale: Locale): string => (require(`../words/${locale}/rules.json`) as OwnTexts).messages[rule]!;

function textsOf(locale: Locale): Map<string, RuleText> {
  const known = loaded.get(locale);
  if (known !== undefined) return known;
  const axe = require(`../words/${locale}/axe.json`) as AxeTexts;
  const own = require(`../words/${locale}/rules.json`) as OwnTexts;
  const texts = new Map(
    Object.entries({ ...own.rules, ...axe.rules }).map(([rule, [help, description]]) => {
      const [why, fix] = own.advice[adviceOf(rule)] ?? ['', ''];
      return [rule, { help, description, why, fix }] as const;
    }),
  );
  loaded.set(locale, texts);
  return texts;
}

/** Which rules share the texts "why it matters" and "how to fix it". A rule that is not listed has texts of its own name. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  'image-alt': ['role-img-alt', 'svg-img-alt', 'object-alt'],
  'aria-attributes': [
    'aria-allowed-attr',
    'aria-braille-equivalent',
    'aria-conditional-attr',
    'aria-prohibited-attr',
    'aria-valid-attr',
    'aria-valid-attr-value',
  ],
  'aria-roles': ['aria-allowed-role', 'aria-deprecated-role', 'aria-roledescription'],
  'aria-structure': ['aria-required-children', 'aria-required-parent'],
  'aria-name': [
    'aria-command-name',
    'aria-dialog-name',
    'aria-meter-name',
    'aria-progressbar-name',
    'aria-tab-name',
    'aria-tooltip-name',
    'aria-treeitem-name',
  ],
  'aria-hidden': ['aria-hidden-focus', 'aria-text', 'presentation-role-conflict'],
  'button-name': ['input-button-name', 'input-image-alt', 'summary-name'],
  'link-name': ['area-alt'],
  label: ['aria-input-field-name', 'aria-toggle-field-name', 'select-name'],
  'color-contrast': ['color-contrast-enhanced'],
  'html-lang': ['html-has-lang', 'html-lang-valid', 'html-xml-lang-mismatch'],
  'landmark-one-main': ['landmark-no-duplicate-main'],
  landmarks: [
    'landmark-banner-is-top-level',
    'landmark-complementary-is-top-level',
    'landmark-contentinfo-is-top-level',
    'landmark-main-is-top-level',
    'landmark-no-duplicate-banner',
    'landmark-no-duplicate-contentinfo',
    'landmark-unique',
  ],
  bypass: ['skip-link'],
  list: ['listitem', 'definition-list', 'dlitem'],
  'frame-title': ['frame-title-unique'],
  'not-tested': ['frame-tested', 'hidden-content'],
  'meta-viewport': ['meta-viewport-large'],
  'meta-refresh': ['meta-refresh-no-exceptions'],
  motion: ['blink', 'marquee'],
  captions: ['audio-caption', 'video-caption'],
  'duplicate-id': ['duplicate-id-active', 'duplicate-id-aria'],
  'table-headers': ['empty-table-header', 'scope-attr-valid', 'td-has-header', 'td-headers-attr', 'th-has-data-cells'],
  'table-name': ['table-duplicate-name', 'table-fake-caption'],
};

const BY_RULE = new Map(Object.entries(SHARED).flatMap(([advice, rules]) => rules.map((rule) => [rule, advice])));

/** Returns the name of the texts for a rule. */
export const adviceOf = (rule: string): string => BY_RULE.get(rule) ?? rule;

/** A generated file: the first words of each message. */
export interface EnglishMessages {
  source: string;
  starts: string[];
}

/** The shortest start of a message that identifies its language, in characters. */
export const ENGLISH_MIN = 12;

let starts: readonly string[] | null = null;

/**
 * Whether a text is an English message of axe-core's checks. Its translations are incomplete: the Dutch one has 3 of 121 checks. Text
 * in another language than its document must be marked, so that screen readers pronounce it correctly (WCAG 3.1.2).
 */
export function isEnglishMessage(text: string): boolean {
  starts ??= (require('./english-messages.json') as EnglishMessages).starts;
  return starts.some((start) => text.startsWith(start));
}

/** `words/LOCALE/review.json`: a text for each rule of axe-core that can be incomplete, and for each of ours. */
export interface ReviewTexts {
  /** For other rules: axe-core reports a rule as incomplete if one of its checks throws, and exports of pods may name any rule. */
  any: string;
  rules: Record<string, string>;
}

/** Returns what a person should look at where a rule could not be decided. */
export function reviewText(rule: string, locale: Locale): string {
  const { any, rules } = require(`../words/${locale}/review.json`) as ReviewTexts;
  return Object.hasOwn(rules, rule) ? rules[rule]! : any;
}

/** A message of axe-core about an element. `lang` is set if it is not in the language of the report. */
export interface FoundPoint {
  text: string;
  lang?: string;
}

/**
 * What a failure summary of axe-core says that was found. Its leads, "Fix any of the following", read as if the points below them were
 * instructions, so they are left out.
 * @param alternatives whether points are wanted of which fixing one is enough: texts of ours say the same
 */
export function foundBy(summary: string, locale: Locale, alternatives: boolean): FoundPoint[] {
  const lists: FoundPoint[][] = [];
  for (const line of summary.split('\n')) {
    const text = line.trim();
    if (text === '') continue;
    if (/^\s/.test(line)) lists.at(-1)?.push({ text, ...(locale !== 'en' && isEnglishMessage(text) && { lang: 'en' }) });
    else lists.push([]);
  }
  return lists.filter(({ length }) => length === 1 || alternatives).flat();
}
