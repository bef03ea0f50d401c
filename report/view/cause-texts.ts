/** Root causes as people read them, the same on pages, in mails and in the PDF. Pure. */
import type { Locale } from '../../core/scan/locales.ts';
import { elementNames } from '../causes/element-names.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';
import type { ReportGroup } from '../schema/schema.ts';

type Cause = Pick<ReportGroup, 'rule' | 'help'> & Parameters<typeof elementNames>[0][number];

/** The longest title of a rule that this version does not know, in characters. It comes from the pod, so it is limited. */
const TITLE_MAX = 300;

export interface CauseText {
  /** What the rule asks for. */
  title: string;
  /** The element that tells the cause apart from others with the same title. */
  element: string | undefined;
  /** Why it matters, and how to fix it. Empty for a rule that this version does not know. */
  why: string;
  fix: string;
  /** Whether the title is the report's own, in the language of the scan: this version does not know the rule. */
  foreign: boolean;
}

/** Describes all causes of a list in a language. */
export function causeTexts<C extends Cause>(causes: readonly C[], locale: Locale): ReadonlyMap<C, CauseText> {
  const titleOf = ({ rule, help }: C): string => ruleText(rule, locale)?.help ?? help.slice(0, TITLE_MAX);
  const elements = elementNames(causes, titleOf);
  return new Map(
    causes.map((cause) => {
      const { why = '', fix = '', ...known } = ruleText(cause.rule, locale) ?? {};
      return [cause, { title: titleOf(cause), element: elements.get(cause), why, fix, foreign: !('help' in known) }];
    }),
  );
}
