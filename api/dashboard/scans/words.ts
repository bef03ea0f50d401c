/** How scans are named in the dashboard: states, verdicts, scores, severities, addresses, origins. Pure. */
import type { ConsentChoice, HashRoutes } from '../../../core/scan/options.ts';
import { isTerminal, type Phase } from '../../../core/scan/phases.ts';
import { isCheck, type ScanRow } from '../../../stores/scans/scan-row.ts';
import { badge, type BadgeKind, noValue, severityIcon, shown, time } from '../../web/components.ts';
import { html, type Html, type HtmlValue, NOTHING } from '../../../report/html/html.ts';
import { currentLocale } from '../../../report/words/current.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { count, forms, m, t, tr } from '../../web/texts.ts';
import { versionText } from '../../../core/scan/metadata.ts';
import { worstOf } from '../../../report/view/verdict.ts';
import { keyIdOf } from '../../../core/accounts.ts';
import type { ActorNames } from '../names.ts';

const words = () => wordsIn(currentLocale(), 'report');

export { shown, siteLink, violations } from '../../web/components.ts';

/** Plurals of the dashboard. */
export { count };

/** Numbers and dates in the language of the reader. */
export const number = (n: number): string => words().number(n);
export const date = (at: string | Date): string => words().date(at);

export const PHASE_WORDS: Readonly<Record<Phase, { text: string; kind: BadgeKind }>> = {
  queued: { text: m`Queued`, kind: 'plain' },
  crawling: { text: m`Finding pages`, kind: 'note' },
  scanning: { text: m`Testing pages`, kind: 'note' },
  aggregating: { text: m`Grouping findings`, kind: 'note' },
  generating: { text: m`Writing reports`, kind: 'note' },
  done: { text: m`Done`, kind: 'plain' },
  failed: { text: m`Failed`, kind: 'bad' },
  canceled: { text: m`Canceled`, kind: 'warn' },
};

/** What a person reads of each choice about the dialog for consent. */
export const CONSENT_WORDS: Readonly<Record<ConsentChoice, string>> = {
  keep: m`Leave it open on every page`,
  reject: m`Reject`,
  accept: m`Accept`,
};

/** What a person reads of each choice about fragments. */
export const HASH_ROUTE_WORDS: Readonly<Record<HashRoutes, string>> = {
  paths: m`Those that begin with #/ or #!`,
  all: m`All that name no element of their page`,
};

/** Marks a scan that a test key submitted, and one that checks a page again. */
export const kindBadge = (row: Pick<ScanRow, 'test' | 'baseline'>): Html =>
  row.test ? badge('plain', t`Test`) : isCheck(row) ? badge('plain', t`Check`) : NOTHING;
export const stateBadge = (phase: Phase): Html => badge(PHASE_WORDS[phase].kind, tr(PHASE_WORDS[phase].text));

/** The verdict of a scan in words; null while it has none, and without thresholds. */
export function verdictWords({ phase, passed }: Pick<ScanRow, 'phase' | 'passed'>): { text: string; kind: BadgeKind } | null {
  if (!isTerminal(phase) || passed === null) return null;
  const { texts } = words();
  return passed ? { text: texts.passed, kind: 'good' } : { text: texts.notPassed, kind: 'bad' };
}

/** The verdict of a scan that has ended. Without thresholds, the worst violations of one that is done. */
export function verdictBadge(row: Pick<ScanRow, 'phase' | 'passed' | 'outcome'>): Html {
  const verdict = verdictWords(row);
  if (verdict !== null) return badge(verdict.kind, verdict.text);
  if (row.phase !== 'done' || row.outcome === null) return nothingYet();
  const { texts } = words();
  const counts = row.outcome.violations;
  const worst = worstOf(counts);
  if (worst === null) return badge('plain', texts.noViolations);
  const found = `${number(counts[worst])} ${texts.severities[worst].toLowerCase()}`;
  return html`<span class="severity severity-${worst}">${severityIcon(worst)}${found}</span>`;
}

/** A cell without a value. */
export const nothingYet = (): Html => noValue();

/** For `count`. */
export const causeForms = () => wordsIn(currentLocale(), 'findings').texts.causes;
export const elementForms = () => words().texts.elements;
const PAGES = forms('{n} page', '{n} pages');
export const pagesText = (n: number): string => count(PAGES, n);

/** How far a scan is, in pages. */
export function progressText({ scanned, failed, total }: ScanRow['pages']): string {
  const tried = scanned + failed;
  const all = pagesText(Math.max(total, tried));
  return failed === 0 ? t`${tried} of ${all}` : t`${tried} of ${all}, ${failed} could not be tested`;
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

/** How long a scan took, from its start or else its submission. */
function durationText({
  createdAt,
  startedAt = createdAt,
  finishedAt,
}: Pick<ScanRow, 'createdAt' | 'startedAt' | 'finishedAt'>): string | null {
  if (finishedAt === null) return null;
  const seconds = Math.max(1, Math.round((finishedAt.getTime() - startedAt.getTime()) / 1000));
  return seconds < 120 ? t`took ${seconds} s` : t`took ${Math.round(seconds / 60)} min`;
}

/** When a scan was made, how long it took, by whom, and of which version of the site. */
export function scanFacts(row: ScanRow, names: ActorNames): Html {
  const { text, who } = originOf(row, names);
  const parts: HtmlValue[] = [
    row.finishedAt === null ? t`Submitted ${time(row.createdAt)}` : t`Ended ${time(row.finishedAt)}`,
    durationText(row),
    who === null ? text : `${text}: ${shown(who)}`,
    shown(versionText(row.metadata ?? {}), 80),
  ];
  const known = parts.filter(Boolean).map((part, at) => html`${at > 0 && ' · '}<span class="address">${part}</span>`);
  return html`<p class="soft" id="scan-facts">${known}</p>`;
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
  if (schedule !== undefined) return { text: t`Schedule`, who: `${resource.namespace}/${schedule}` };
  if (origin === 'manifest') return { text: t`Manifest`, who: `${resource.namespace}/${resource.name}` };
  const isPerson = submittedBy !== undefined && keyIdOf(submittedBy) === null;
  return { text: isPerson ? t`Dashboard` : 'API', who: submittedBy === undefined ? null : names(submittedBy) };
}
