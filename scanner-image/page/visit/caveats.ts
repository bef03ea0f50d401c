/** Sentences about what may be missing on a tested page. Pure. */
import type { PageCaveat } from '../../../report/schema/page.ts';
import type { VisibleContent } from './visit.ts';

/** The number of addresses that a sentence names. */
const NAMED_MAX = 3;
const URL_MAX = 200;

export const NOT_QUIET: PageCaveat = {
  kind: 'not_quiet',
  message: 'The page still changed at the last look. If content is missing, raise crawl.settleMs or name an element in crawl.waitFor.',
};

export const notScrolled = (screens: number): PageCaveat => ({
  kind: 'not_scrolled',
  message: `The page shows more content the further it is scrolled. It was scrolled through ${screens} screens, and content beyond them was not tested.`,
});

export const HANGS_ON_SCROLL: PageCaveat = {
  kind: 'not_scrolled',
  message:
    'The page, or one like it, stopped responding when it was scrolled. It was tested without scrolling, and content that appears only on scrolling was not tested. Look for a script that handles scrolling and does not return.',
};

export const STILL_BUSY: PageCaveat = {
  kind: 'still_busy',
  message:
    'The page was still at work at the last look: a worker had sent nothing, a timer was pending, or its scripts did not return. If content is missing, name an element in crawl.waitFor or raise crawl.settleMs.',
};

/** The page may be compared with others, because many call themselves again and again by such timers. */
export const TIMER_PENDING: PageCaveat = {
  kind: 'still_busy',
  message:
    'A timer of the page was pending at the last look. If content is missing, name an element in crawl.waitFor or raise crawl.settleMs.',
};

export const WAIT_SKIPPED: PageCaveat = {
  kind: 'wait_skipped',
  message:
    'The page was not scrolled, because pages like it with the same scripts showed nothing more when they were. If content is missing, name an element in crawl.waitFor or raise crawl.settleMs.',
};

export const OUT_OF_TIME: PageCaveat = {
  kind: 'wait_skipped',
  message: 'The time of the page was over before it could be looked at a second time. Raise PAGE_BUDGET_SECONDS of the operator.',
};

/** The stages of a visit, as they end a sentence about its time. */
export type Stage = 'did not answer' | 'did not finish loading' | 'was not tested';

/** @param open what had not arrived */
export function outOfTime(stage: Stage, budgetMs: number, open: readonly { url: string }[]): string {
  const sentence = `The page ${stage} within ${(budgetMs / 1000).toFixed(0)} s.`;
  if (stage === 'did not answer') return sentence;
  if (stage === 'did not finish loading' && open.length > 0)
    return `${sentence} No complete response arrived from ${namesOf(open.map(({ url }) => url))}.`;
  return `${sentence} A script of it or of a frame kept the browser busy, or it is very large: then raise PAGE_BUDGET_SECONDS of the operator.`;
}

/** @param elements the number of elements that were visible only while they were in view */
export const viewOnly = (elements: number): PageCaveat => ({
  kind: 'view_only',
  message: `The page shows some content only while it is in view (${elements} ${elements === 1 ? 'element' : 'elements'}). It was seen while the page was scrolled, and not tested.`,
});

/** @param open URLs of the parts that had not arrived */
export const stillLoading = (open: readonly string[]): PageCaveat => ({
  kind: 'still_loading',
  message: `The page had not finished loading when it was tested${open.length === 0 ? '' : `: no complete response arrived in time from ${namesOf(open)}`}. It was tested as it was then.`,
});

/** @param matched false, or the browser's message if the selector is invalid */
export const waitForMissing = (selector: string, matched: boolean | string): PageCaveat => ({
  kind: 'wait_for_missing',
  message:
    typeof matched === 'string'
      ? `crawl.waitFor is not a valid CSS selector (${selector}). The page was tested without it.`
      : `No element matched crawl.waitFor (${selector}) in time. The page was tested without it.`,
});

/**
 * @param open URLs without a complete response, for which the page has waited
 * @param blocked URLs that were not requested, because they or their hosts did not answer on an earlier page
 */
export function requestCaveats(open: readonly string[], blocked: readonly string[]): PageCaveat[] {
  const sentences: string[] = [];
  if (open.length > 0) sentences.push(`No complete response arrived in time from ${namesOf(open)}.`);
  if (blocked.length > 0)
    sentences.push(`Not requested, because this scan has waited for the same host or file in vain before: ${namesOf(blocked)}.`);
  if (sentences.length === 0) return [];
  return [{ kind: 'requests_unanswered', message: `${sentences.join(' ')} The page was tested without what they show.` }];
}

/** What failed on a page before its test: addresses with a reason, and uncaught errors. Each list is sorted. */
export interface Faults {
  scripts: string[];
  styles: string[];
  /** Requests of scripts to the same site. */
  data: string[];
  errors: string[];
  /** Addresses that the egress rules refused. */
  refused: string[];
}

export function faultCaveats({ scripts, styles, data, errors, refused }: Faults): PageCaveat[] {
  const said = (names: readonly string[], one: string, many: string): string[] =>
    names.length === 0 ? [] : [`${names.length} ${names.length === 1 ? one : many}: ${listed(names)}.`];
  const failedScripts = [
    ...said(scripts, 'script did not load', 'scripts did not load'),
    ...said(errors, 'uncaught error', 'uncaught errors'),
  ];
  const found: [PageCaveat['kind'], string[], string][] = [
    ['script_failed', failedScripts, 'The page was tested without what they would have shown.'],
    ['style_failed', said(styles, 'style sheet did not load', 'style sheets did not load'), 'The page was tested without them.'],
    ['data_failed', said(data, 'data request failed', 'data requests failed'), 'The page was tested without what they would have shown.'],
    [
      'request_refused',
      said(refused, 'request was refused', 'requests were refused'),
      'The scanner may not reach these addresses. An operator of the installation can allow them.',
    ],
  ];
  return found.flatMap(([kind, what, end]) => (what.length === 0 ? [] : [{ kind, message: [...what, end].join(' ') }]));
}

/** The first script that did not load, or else the first uncaught error or refused request, as a sentence; empty if there is none. */
export function firstFault({ scripts: [script], errors: [error], refused: [address] }: Faults): string {
  if (script !== undefined) return `A script did not load: ${script}.`;
  if (error !== undefined) return `An error was not caught: ${error}.`;
  return address === undefined ? '' : `A request was refused: ${address}.`;
}

const ERROR_MAX = 160;

/** The first line of an error and its script, without queries. */
export function shortError(description: string, script: string | undefined): string {
  const line = description
    .split('\n', 1)[0]!
    .replace(/\.$/, '')
    .replace(/(https?:\/\/[^\s"'?#]*)[?#][^\s"']*/g, '$1');
  const short = line.length > ERROR_MAX ? `${line.slice(0, ERROR_MAX).toWellFormed()}…` : line;
  return script !== undefined && /^https?:/.test(script) ? `${short} (${withoutQuery(script)})` : short;
}

export const contentBlocked = ({ by, layer }: NonNullable<VisibleContent['blocked']>): PageCaveat => {
  const how = { inert: 'cannot be used', hidden: 'is hidden', covered: 'is covered' }[by];
  const what = layer === '' ? '' : ` while a layer is displayed: ${layer}`;
  return {
    kind: 'content_blocked',
    message: `Most of the page's content ${how}${what}. To test the page as visitors use it, answer the layer with crawl.prepare, or with crawl.consent if it asks for consent.`,
  };
};

function namesOf(urls: readonly string[]): string {
  return listed([...new Set(urls.map(withoutQuery))].sort());
}

function listed(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** A query may contain personal data, and it is long. */
export const withoutQuery = (url: string): string => url.replace(/[?#].*$/s, '').slice(0, URL_MAX);
