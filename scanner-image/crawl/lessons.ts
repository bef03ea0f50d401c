/**
 * What the pages of a scan teach about waiting. Every page gets every wait, except those that ended in nothing on the first
 * pages of its template. A page uses the lessons of the pages up to a fixed place in the frontier's order (`Candidate.knows`), never
 * of those that happen to have ended, so that results do not depend on the order or delay of answers. Pure.
 */
import type { Candidate } from './frontier.ts';
import { templateOf } from './template.ts';

/** A wait that may end in nothing: for work in the background, a message, content on scrolling, the element of `waitFor`. */
export type Wait = 'work' | 'messages' | 'scroll' | 'element';

/** What one page taught. */
export interface Lesson {
  /** The waits that led to something. */
  found: Wait[];
  /** The waits that ended in nothing. */
  inVain: Wait[];
  /** The page stopped responding when it was scrolled. */
  hangsOnScroll: boolean;
  /** Addresses without query of files that did not arrive in time. */
  silent: string[];
  /** Addresses without query of data that scripts asked for and that did not arrive: long polls, streams. */
  leftOpen: string[];
  /** Origins that answered. */
  answered: string[];
}

/** How a page is waited for. */
export interface WaitPlan {
  /** The waits that have only ended in nothing on pages of the template. */
  skips: ReadonlySet<Wait>;
  /** The waits that led to something on a page of the template. */
  found: ReadonlySet<Wait>;
  /** Addresses and origins that are not requested, because no page got an answer from them. */
  blocked: readonly string[];
  /** Addresses of data that are not waited for. */
  leftOpen: ReadonlySet<string>;
  /** Pages like this one stop responding when they are scrolled. */
  hangsOnScroll: boolean;
}

export interface Lessons {
  /** Records the lesson of a page. */
  record(page: Pick<Candidate, 'position' | 'url'>, lesson: Lesson): void;
  planFor(page: Pick<Candidate, 'knows' | 'url'>): WaitPlan;
}

/** The number of addresses that are remembered of each kind. */
const MOST = 200;

/** The plan of a page before which nothing was learned. */
export const PATIENT: WaitPlan = { skips: new Set(), found: new Set(), blocked: [], leftOpen: new Set(), hangsOnScroll: false };

export function emptyLesson(): Lesson {
  return { found: [], inVain: [], hangsOnScroll: false, silent: [], leftOpen: [], answered: [] };
}

/** The address of a URL without query and fragment; null for `data:` and other URLs without a host. */
export function withoutQuery(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed === null || !/^https?:$/.test(parsed.protocol) ? null : parsed.origin + parsed.pathname;
}

/** Starts without any knowledge. */
export function createLessons(): Lessons {
  const recorded: { position: number; template: string; lesson: Lesson }[] = [];

  return {
    record({ position, url }, lesson) {
      recorded.push({ position, template: templateOf(url), lesson });
    },
    planFor({ knows, url }) {
      const template = templateOf(url);
      const known = recorded.filter(({ position }) => position <= knows);
      const own = known.filter((page) => page.template === template);
      const found = new Set(own.flatMap(({ lesson }) => lesson.found));
      const answered = new Set(known.flatMap(({ lesson }) => lesson.answered));
      const silent = known.flatMap(({ lesson }) => lesson.silent);
      return {
        skips: new Set(own.flatMap(({ lesson }) => lesson.inVain)).difference(found),
        found,
        blocked: [...new Set(silent.map((address) => blockedFor(address, answered)))].slice(0, MOST),
        leftOpen: new Set(known.flatMap(({ lesson }) => lesson.leftOpen).slice(0, MOST)),
        hangsOnScroll: own.some(({ lesson }) => lesson.hangsOnScroll),
      };
    },
  };
}

/** A host that never answered is not asked again; of another host only the address that did not arrive. */
function blockedFor(address: string, answered: ReadonlySet<string>): string {
  const { origin } = new URL(address);
  return answered.has(origin) ? address : origin;
}

/** The lesson of two visits of a page. */
export function bothLessons(first: Lesson, second: Lesson): Lesson {
  return {
    found: [...first.found, ...second.found],
    inVain: [...first.inVain, ...second.inVain],
    hangsOnScroll: first.hangsOnScroll || second.hangsOnScroll,
    silent: [...first.silent, ...second.silent],
    leftOpen: [...first.leftOpen, ...second.leftOpen],
    answered: [...first.answered, ...second.answered],
  };
}

/** A plan for a second visit of the page that taught a lesson. */
export function planAgain(plan: WaitPlan, { silent, answered, hangsOnScroll }: Lesson): WaitPlan {
  const blocked = silent.map((address) => blockedFor(address, new Set(answered)));
  return { ...plan, blocked: [...new Set([...plan.blocked, ...blocked])], hangsOnScroll: plan.hangsOnScroll || hangsOnScroll };
}

/** Patterns of URLs in the form of `Network.setBlockedURLs`. The page itself is never blocked. */
export function blockedPatterns({ blocked }: WaitPlan, page: URL): string[] {
  return blocked
    .filter((entry) => entry !== page.origin && entry !== page.origin + page.pathname)
    .map((entry) => (new URL(entry).origin === entry ? `${entry}/*` : `${entry}*`));
}

/** Whether a plan blocks a URL. */
export function isBlocked({ blocked }: WaitPlan, url: string): boolean {
  const address = blocked.length === 0 ? null : withoutQuery(url);
  return address !== null && (blocked.includes(address) || blocked.includes(new URL(address).origin));
}
