/**
 * What the pages of a scan have taught about waiting. A page uses the outcomes of the pages up to a fixed position in the frontier's
 * order (`Candidate.knows`), never of those that happen to have ended. So results do not depend on the order or delay of answers. Pure.
 */
import type { Candidate } from './frontier.ts';
import { templateOf } from '../../core/scan/site.ts';

/** Scrolling, and the second look. */
export type Wait = 'scroll' | 'look';

/** What waiting for one page has led to. */
export interface WaitOutcomes {
  /** Whether an element matched `crawl.waitFor`; null if it was not waited for. */
  matched: boolean | null;
  /** Each wait with the key of the page's signals (`page/visit/settling.ts`), and whether it found something. */
  waits: { key: string; found: boolean }[];
  /** The page stopped responding when it was scrolled. */
  hangsOnScroll: boolean;
  /** Addresses without query of files that did not arrive in time. */
  unanswered: string[];
  /** Addresses without query of data that scripts asked for and that did not arrive: long polls, streams. */
  leftOpen: string[];
  /** Origins that answered. */
  answered: string[];
}

export interface WaitPlan {
  /** The waits that found nothing on the template's pages with these signals. */
  useless: ReadonlySet<string>;
  /** No page of the template had an element that matches `crawl.waitFor`. */
  lacksElement: boolean;
  /** Addresses and origins that are not requested, because no page got an answer from them. */
  blocked: readonly string[];
  /** Addresses of data that are not waited for. */
  leftOpen: ReadonlySet<string>;
  /** Pages of the template stop responding when they are scrolled. */
  hangsOnScroll: boolean;
}

export interface WaitHistory {
  record(page: Pick<Candidate, 'position' | 'url'>, outcomes: WaitOutcomes): void;
  planFor(page: Pick<Candidate, 'knows' | 'url'>): WaitPlan;
}

/** The number of addresses that are remembered of each kind. */
const ADDRESSES_MAX = 200;

/** The plan of a page before which no page was visited. */
export const EVERY_WAIT: WaitPlan = {
  useless: new Set(),
  lacksElement: false,
  blocked: [],
  leftOpen: new Set(),
  hangsOnScroll: false,
};

export function noOutcomes(): WaitOutcomes {
  return { matched: null, waits: [], hangsOnScroll: false, unanswered: [], leftOpen: [], answered: [] };
}

/** The address of a URL without query and fragment; null for `data:` and other URLs without a host. */
export function withoutQuery(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed === null || !/^https?:$/.test(parsed.protocol) ? null : parsed.origin + parsed.pathname;
}

/** URLs as they are remembered: without queries, each once, in one order. */
export const addressesOf = (urls: readonly string[]): string[] => [...new Set(urls.flatMap((url) => withoutQuery(url) ?? []))].sort();

/** Starts without any knowledge. */
export function createWaitHistory(): WaitHistory {
  const recorded: { position: number; template: string; outcomes: WaitOutcomes }[] = [];

  return {
    record({ position, url }, outcomes) {
      recorded.push({ position, template: url.host + templateOf(url), outcomes });
    },
    planFor({ knows, url }) {
      const template = url.host + templateOf(url);
      const known = recorded.filter(({ position }) => position <= knows);
      const own = known.filter((page) => page.template === template);
      const waits = own.flatMap(({ outcomes }) => outcomes.waits);
      const keys = (found: boolean): Set<string> => new Set(waits.filter((wait) => wait.found === found).map(({ key }) => key));
      const matched = own.map(({ outcomes }) => outcomes.matched);
      const answered = new Set(known.flatMap(({ outcomes }) => outcomes.answered));
      const unanswered = known.flatMap(({ outcomes }) => outcomes.unanswered);
      return {
        useless: keys(false).difference(keys(true)),
        lacksElement: matched.includes(false) && !matched.includes(true),
        blocked: [...new Set(unanswered.map((address) => blockedFor(address, answered)))].slice(0, ADDRESSES_MAX),
        leftOpen: new Set(known.flatMap(({ outcomes }) => outcomes.leftOpen).slice(0, ADDRESSES_MAX)),
        hangsOnScroll: own.some(({ outcomes }) => outcomes.hangsOnScroll),
      };
    },
  };
}

/** A host that never answered is not asked again; of another host only the address that did not arrive. */
function blockedFor(address: string, answered: ReadonlySet<string>): string {
  const { origin } = new URL(address);
  return answered.has(origin) ? address : origin;
}

/** The outcomes of two visits of a page. */
export function mergeOutcomes(first: WaitOutcomes, second: WaitOutcomes): WaitOutcomes {
  return {
    matched: second.matched ?? first.matched,
    waits: [...first.waits, ...second.waits],
    hangsOnScroll: first.hangsOnScroll || second.hangsOnScroll,
    unanswered: [...first.unanswered, ...second.unanswered],
    leftOpen: [...first.leftOpen, ...second.leftOpen],
    answered: [...first.answered, ...second.answered],
  };
}

/** A plan for a second visit of the page that had these outcomes. */
export function planAgain(plan: WaitPlan, { unanswered, answered, hangsOnScroll }: WaitOutcomes): WaitPlan {
  const blocked = unanswered.map((address) => blockedFor(address, new Set(answered)));
  return { ...plan, blocked: [...new Set([...plan.blocked, ...blocked])], hangsOnScroll: plan.hangsOnScroll || hangsOnScroll };
}

/** Patterns of URLs in the form of `Network.setBlockedURLs`. The page itself is never blocked. */
export function blockedPatterns({ blocked }: WaitPlan, page: URL): string[] {
  return blocked
    .filter((entry) => entry !== page.origin && entry !== page.origin + page.pathname)
    .map((entry) => (new URL(entry).origin === entry ? `${entry}/*` : `${entry}*`));
}

export function isBlocked({ blocked }: WaitPlan, url: string): boolean {
  const address = blocked.length === 0 ? null : withoutQuery(url);
  return address !== null && (blocked.includes(address) || blocked.includes(new URL(address).origin));
}
