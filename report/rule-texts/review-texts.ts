/**
 * What a person should look at where the tests could not decide, in every language (`words/LOCALE/review.json`): a text for each rule of
 * axe-core that can be incomplete, and for each of ours. A language is loaded when it is first used.
 */
import { createRequire } from 'node:module';
import type { Locale } from '../../core/scan/locales.ts';

/** The texts of a language, by rule. */
export interface ReviewTexts {
  /** For other rules: axe-core reports a rule as incomplete if one of its checks throws, and exports of pods may name any rule. */
  any: string;
  rules: Record<string, string>;
}

const require = createRequire(import.meta.url);

/** Returns what a person should look at where a rule could not be decided. */
export function reviewText(rule: string, locale: Locale): string {
  const { any, rules } = require(`../words/${locale}/review.json`) as ReviewTexts;
  return Object.hasOwn(rules, rule) ? rules[rule]! : any;
}
