/** Short names of elements, by which readers tell root causes with the same title apart. Pure. */
import type { ReportNode } from '../schema/page.ts';
import type { RootCause } from '../schema/root-cause.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';

/** The longest name, in characters: a line of a heading. */
const NAME_MAX = 60;

interface Named {
  example: Pick<ReportNode, 'selector' | 'html'>;
}

/**
 * Returns a name for each root cause that shares its title with another one. It is the end of its example's selector, or the
 * opening tag if the selectors are the same too.
 */
export function elementNames<C extends Named>(causes: readonly C[], titleOf: (cause: C) => string): Map<C, string> {
  const names = new Map<C, string>();
  for (const alike of Map.groupBy(causes, titleOf).values()) {
    if (alike.length === 1) continue;
    const bySelector = Map.groupBy(alike, ({ example }) => endOf(example.selector));
    for (const [selector, same] of bySelector)
      for (const cause of same) names.set(cause, same.length === 1 ? selector : openingTag(cause.example.html) || selector);
  }
  return names;
}

/** Returns a name for each root cause. No two causes with the same title have the same name. */
export function distinctNames<C extends Named>(causes: readonly C[], titleOf: (cause: C) => string): Map<C, string> {
  const lastStep = ({ example }: C): string => endOf(example.selector.slice(example.selector.lastIndexOf(' > ') + 1).replace(/^> /, ''));
  const keyOf = (cause: C): string => `${titleOf(cause)}\n${lastStep(cause)}`;
  const alike = new Map<string, number>();
  for (const cause of causes) alike.set(keyOf(cause), (alike.get(keyOf(cause)) ?? 0) + 1);
  const shared = elementNames(causes, titleOf);
  const used = new Map<string, number>();
  return new Map(
    causes.map((cause) => {
      // The element itself is enough, unless another cause has one like it.
      const name = alike.get(keyOf(cause)) === 1 ? lastStep(cause) : (shared.get(cause) ?? endOf(cause.example.selector));
      const key = `${titleOf(cause)}\n${name}`;
      const times = (used.get(key) ?? 0) + 1;
      used.set(key, times);
      return [cause, times === 1 ? name : `${name} (${times})`];
    }),
  );
}

/** The last steps of a selector that fit. */
function endOf(selector: string): string {
  if (selector.length <= NAME_MAX) return selector;
  const steps = selector.split(' > ');
  let from = steps.length - 1;
  const rest = (index: number): string => `… > ${steps.slice(index).join(' > ')}`;
  while (from > 1 && rest(from - 1).length <= NAME_MAX) from -= 1;
  const end = from === 0 ? selector : rest(from);
  return end.length <= NAME_MAX ? end : `…${end.slice(1 - NAME_MAX)}`.toWellFormed();
}

function openingTag(html: string): string {
  const [tag] = /^<[^>]*>?/.exec(html.replace(/\s+/g, ' ')) ?? [''];
  return tag.length <= NAME_MAX ? tag : `${tag.slice(0, NAME_MAX - 1).toWellFormed()}…`;
}

/** Root causes as users read them, the same on pages, in mails and in the PDF. Pure. */
type TitledCause = Named & Pick<RootCause, 'rule' | 'help'>;

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
export function causeTexts<C extends TitledCause>(causes: readonly C[], locale: Locale): ReadonlyMap<C, CauseText> {
  const titleOf = ({ rule, help }: C): string => ruleText(rule, locale)?.help ?? help.slice(0, TITLE_MAX);
  const elements = elementNames(causes, titleOf);
  return new Map(
    causes.map((cause) => {
      const { why = '', fix = '', ...known } = ruleText(cause.rule, locale) ?? {};
      return [cause, { title: titleOf(cause), element: elements.get(cause), why, fix, foreign: !('help' in known) }];
    }),
  );
}
