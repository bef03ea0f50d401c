/** How scans are named in the dashboard: states, verdicts, scores, severities, addresses, origins. Pure. */
import type { ConsentChoice, HashRoutes } from '../../../core/scan/options.ts';
import { isTerminal, type Phase } from '../../../core/scan/phases.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { badge, type BadgeKind, noValue, shown } from '../../web/components.ts';
import { type Html, NOTHING } from '../../../report/html/html.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { keyIdOf } from '../../../core/accounts.ts';
import type { ActorNames } from '../names.ts';

const { number, count, date, texts } = wordsIn('en', 'report');

export { shown, siteLink, violations } from '../../web/components.ts';

/** Numbers, plurals and dates of the dashboard, which is in English. */
export { count, date, number };

export const PHASE_WORDS: Readonly<Record<Phase, { text: string; kind: BadgeKind }>> = {
  queued: { text: 'Queued', kind: 'plain' },
  crawling: { text: 'Finding pages', kind: 'note' },
  scanning: { text: 'Testing pages', kind: 'note' },
  aggregating: { text: 'Grouping findings', kind: 'note' },
  generating: { text: 'Writing reports', kind: 'note' },
  done: { text: 'Done', kind: 'plain' },
  failed: { text: 'Failed', kind: 'bad' },
  canceled: { text: 'Canceled', kind: 'warn' },
};

/** What a person reads of each choice about the dialog for consent. */
export const CONSENT_WORDS: Readonly<Record<ConsentChoice, string>> = {
  keep: 'Leave it open on every page',
  reject: 'Reject',
  accept: 'Accept',
};

/** What a person reads of each choice about fragments. */
export const HASH_ROUTE_WORDS: Readonly<Record<HashRoutes, string>> = {
  paths: 'Those that begin with #/ or #!',
  all: 'All that name no element of their page',
};

/** Marks a scan that a test key submitted. */
export const testBadge = ({ test }: Pick<ScanRow, 'test'>): Html => (test ? badge('plain', 'Test') : NOTHING);
export const stateBadge = (phase: Phase): Html => badge(PHASE_WORDS[phase].kind, PHASE_WORDS[phase].text);

/** The verdict of a scan in words; null while it has none. */
export function verdictWords({ phase, passed }: Pick<ScanRow, 'phase' | 'passed'>): { text: string; kind: BadgeKind } | null {
  if (!isTerminal(phase)) return null;
  // Without thresholds, only a scan that is done has a result that could be good or bad.
  if (passed === null) return phase === 'done' ? { text: texts.noThresholds, kind: 'plain' } : null;
  return passed ? { text: texts.passed, kind: 'good' } : { text: texts.notPassed, kind: 'bad' };
}

export function verdictBadge(row: Pick<ScanRow, 'phase' | 'passed'>): Html {
  const words = verdictWords(row);
  return words === null ? nothingYet : badge(words.kind, words.text);
}

/** A cell without a value. */
export const nothingYet = noValue();

/** For `count`. */
export const CAUSES = wordsIn('en', 'findings').texts.causes;
export const ELEMENTS = texts.elements;
const PAGES = { one: '{n} page', other: '{n} pages' };
export const pagesText = (n: number): string => count(PAGES, n);

/** How far a scan is, in pages. */
export function progressText({ scanned, failed, total }: ScanRow['pages']): string {
  const tried = scanned + failed;
  const untested = failed === 0 ? '' : `, ${number(failed)} could not be tested`;
  return `${number(tried)} of ${pagesText(Math.max(total, tried))}${untested}`;
}

/** The host of an address, and what follows it. Addresses of tested sites may be anything. */
export function partsOf(url: string): { host: string; path: string } {
  if (!URL.canParse(url)) return { host: shown(url), path: '' };
  const { host, pathname, search, hash } = new URL(url);
  return { host: shown(host), path: shown(decoded(pathname + search + hash)) };
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    // Not UTF-8: shown as it is.
    return path;
  }
}

export interface OriginWords {
  text: string;
  /** A person, an API key or a resource. Null: not known. */
  who: string | null;
}

export function originOf(
  { origin, resource, schedule, submittedBy }: Pick<ScanRow, 'origin' | 'resource' | 'schedule' | 'submittedBy'>,
  names: ActorNames,
): OriginWords {
  if (schedule !== undefined) return { text: 'Schedule', who: `${resource.namespace}/${schedule}` };
  if (origin === 'manifest') return { text: 'Manifest', who: `${resource.namespace}/${resource.name}` };
  const isPerson = submittedBy !== undefined && keyIdOf(submittedBy) === null;
  return { text: isPerson ? 'Dashboard' : 'API', who: submittedBy === undefined ? null : names(submittedBy) };
}
