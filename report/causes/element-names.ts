/** Short names of elements, by which readers tell root causes with the same title apart. Pure. */
import { LANDMARK_ELEMENTS, type ReportNode } from '../schema/page.ts';
import type { RootCause } from '../schema/root-cause.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { ruleText } from '../rule-texts/rule-texts.ts';
import { isGenerated, ownClasses } from './generated.ts';

/** The longest name, in characters: a line of a heading. */
const NAME_MAX = 60;

/** The longest text in a name, in characters. */
const QUOTE_MAX = 24;

interface Named {
  example: Pick<ReportNode, 'selector' | 'html' | 'landmark' | 'contrast'>;
}

/** Returns a name for each root cause that shares its title with another one; see `distinctNames`. */
export function elementNames<C extends Named>(causes: readonly C[], titleOf: (cause: C) => string): Map<C, string> {
  const shared = new Set([...Map.groupBy(causes, titleOf)].flatMap(([title, { length }]) => (length > 1 ? [title] : [])));
  return new Map([...distinctNames(causes, titleOf)].filter(([cause]) => shared.has(titleOf(cause))));
}

/**
 * Returns a name for each root cause: the landmark, the component, and, if others have the same, its text, its colours, its selector or
 * its opening tag. No two causes with the same title have the same name.
 */
export function distinctNames<C extends Named>(causes: readonly C[], titleOf: (cause: C) => string): Map<C, string> {
  const names = new Map<C, string>();
  for (const alike of Map.groupBy(causes, titleOf).values()) {
    const forms = new Map(alike.map((cause) => [cause, formsOf(cause.example)]));
    const times = new Map<string, number>();
    for (const form of [...forms.values()].flatMap((all) => [...new Set(all)])) times.set(form, (times.get(form) ?? 0) + 1);
    const used = new Map<string, number>();
    for (const [cause, all] of forms) {
      const name = all.find((form) => times.get(form) === 1) ?? all.at(-1)!;
      used.set(name, (used.get(name) ?? 0) + 1);
      names.set(cause, used.get(name) === 1 ? name : `${name} (${used.get(name)})`);
    }
  }
  return names;
}

const PLACES = new Map(Object.entries(LANDMARK_ELEMENTS).map(([element, landmark]) => [landmark, element]));

/** The forms of a name, from the shortest. */
function formsOf({ selector, html, landmark, contrast }: Named['example']): string[] {
  const [tag = ''] = /^<[^>]*>?/.exec(html.replace(/\s+/g, ' ')) ?? [];
  const attribute = (name: string): string => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]?.trim() ?? '';
  const classes = ownClasses(attribute('class')).slice(0, 2);
  const [id, kind] = [attribute('id'), attribute('name') || attribute('type') || attribute('role')];
  const own = classes.length > 0 ? `.${classes.join('.')}` : id !== '' && !isGenerated(id) ? `#${id}` : kind && `[${kind}]`;
  const place = landmark === null ? '' : `${PLACES.get(landmark)} `;
  const component = cut(`${place}${/^<([^\s>]+)/.exec(tag)?.[1] ?? selector}${own}`, NAME_MAX - QUOTE_MAX - 3);
  const file = /^data:/.test(attribute('src')) ? '' : (/([^/?#]+)(?:[?#].*)?$/.exec(attribute('src'))?.[1] ?? '');
  const texts = [...['aria-label', 'alt', 'title', 'placeholder'].map(attribute), textOf(html), file];
  const text = texts.map((value) => decoded(value).replace(/\s+/g, ' ').trim()).find((value) => value !== '' && value !== '…');
  const quoted = text === undefined ? component : `${component} “${cut(text, QUOTE_MAX)}”`;
  const coloured = contrast === undefined ? [] : [`${component} ${contrast.foreground} on ${contrast.background}`];
  return [...(own === '' ? [] : [component]), quoted, ...coloured, endOf(selector), cut(tag, NAME_MAX) || endOf(selector)];
}

/** The text of HTML, without code. */
const textOf = (html: string): string => html.replace(/<(style|script)\b.*?(?:<\/\1>|$)/gis, ' ').replace(/<[^>]*>?/g, ' ');

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ' };

/** The references that a browser writes when it serialises HTML. */
const decoded = (text: string): string => text.replace(/&(amp|lt|gt|quot|nbsp);/g, (_reference, name: string) => ENTITIES[name]!);

const cut = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`);

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
