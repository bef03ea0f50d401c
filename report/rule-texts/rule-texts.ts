/**
 * Texts about axe-core's rules and ours in every language: what a rule asks for, why it matters and what to do. Help and description
 * are axe-core's own (`words/LOCALE/axe.json`, written by tools/rule-texts.ts; MPL-2.0) where it has them in the language; the other
 * texts are ours (`words/LOCALE/rules.json`). A language is loaded when it is first used.
 */
import { createRequire } from 'node:module';
import type { Locale } from '../../core/scan/locales.ts';
import { adviceOf } from './advice.ts';

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

/** Every rule with texts. */
export const knownRules = (): string[] => [...textsOf('en').keys()];

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
