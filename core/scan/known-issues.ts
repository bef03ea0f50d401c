/** Known issues of a site, until a date: violations that thresholds do not count, and decisions about elements that need review. */
import { Type, type Static } from 'typebox';
import { oneOf } from '../schemas.ts';
import type { Counts } from './counts.ts';
import type { Impact } from './impacts.ts';
import { siteOf } from './site.ts';

/** The latest end of a known issue, in days from now. */
export const KNOWN_ISSUE_MAX_DAYS = 366;
/** A report announces the end of a known issue so many days before. */
export const ENDING_DAYS = 30;
/** The largest number of known issues of a site. */
export const KNOWN_ISSUES_MAX = 500;
/** The longest text that names a site, in characters. */
export const SITE_MAX = 260;
/** The size of the known issues of one scan as JSON, in bytes: the Secret with the pod's input may have 1 MiB. */
const CHOSEN_MAX_BYTES = 256 * 1024;

const DAY_MS = 86_400_000;

/** The longest texts of a known issue, in characters. */
export const KNOWN_ISSUE_TEXT_MAX = { selector: 1000, reason: 300, owner: 100 } as const;

/** `accepted` is about violations. `fine` and `fault` decide about elements that need review: a `fault` counts as a violation. */
export const KNOWN_ISSUE_KINDS = ['accepted', 'fine', 'fault'] as const;
export type KnownIssueKind = (typeof KNOWN_ISSUE_KINDS)[number];

/** What a known issue is about, why it is accepted, by whom, and until when. It has `fingerprint`, or `rule` and `selector`. */
export const KNOWN_ISSUE_FIELDS = {
  kind: Type.Optional(
    oneOf(KNOWN_ISSUE_KINDS, {
      description:
        '`accepted` (default) is about violations. `fine` and `fault` are about what needs review: a `fault` counts as a violation.',
    }),
  ),
  fingerprint: Type.Optional(
    Type.String({ pattern: '^[0-9a-f]{16}$', description: 'The fingerprint of a root cause, as in the JSON export.' }),
  ),
  rule: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: '^[A-Za-z0-9._-]+$',
      description: 'With selector: the ID of a rule, such as image-alt.',
    }),
  ),
  selector: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: KNOWN_ISSUE_TEXT_MAX.selector,
      description:
        'With rule: the selector of the elements, exactly as reports show it. Those of frames and shadow hosts precede it, separated by " >>> ".',
    }),
  ),
  reason: Type.String({ minLength: 1, maxLength: KNOWN_ISSUE_TEXT_MAX.reason, pattern: '\\S', description: 'Why it is so.' }),
  owner: Type.String({
    minLength: 1,
    maxLength: KNOWN_ISSUE_TEXT_MAX.owner,
    pattern: '\\S',
    description: 'Who sees to it that it is fixed, or has decided: a person or a team.',
  }),
};

/** A known issue of a scan, as it was when the scan started. */
export const KnownIssue = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 128 }),
  ...KNOWN_ISSUE_FIELDS,
  /** ISO 8601. From then on it counts as if it did not exist. */
  expiresAt: Type.String({ maxLength: 40 }),
});
export type KnownIssue = Static<typeof KnownIssue>;
export type KnownIssueTarget = Pick<KnownIssue, 'kind' | 'fingerprint' | 'rule' | 'selector'>;

export const isDecision = ({ kind = 'accepted' }: Pick<KnownIssue, 'kind'>): boolean => kind !== 'accepted';

/** What a known issue covers, as a scan found it: a root cause, and the first of its elements. */
export interface KnownIssueExample {
  scanId: string;
  fingerprint: string;
  rule: string;
  impact: Impact;
  selector: string;
  pageUrl: string;
  elements: number;
  pages: number;
}

/** The known issues of a scan: chosen once, when its Job is created. */
export const ChosenKnownIssues = Type.Object({
  /** When they were chosen, ISO 8601. */
  at: Type.String({ maxLength: 40 }),
  issues: Type.Array(KnownIssue, { maxItems: KNOWN_ISSUES_MAX }),
  /** How many others there were no room for. They count as violations. */
  leftOut: Type.Integer({ minimum: 0 }),
});
export type ChosenKnownIssues = Static<typeof ChosenKnownIssues>;

/** Chooses those that have not ended. @param issues in the order in which they are preferred if there are too many */
export function chooseKnownIssues(issues: readonly KnownIssue[], now: Date): ChosenKnownIssues {
  const live = issues.filter(({ expiresAt }) => Date.parse(expiresAt) > now.getTime());
  let bytes = 0;
  const fitting = live.filter((issue, index) => {
    bytes += Buffer.byteLength(JSON.stringify(issue));
    return index < KNOWN_ISSUES_MAX && bytes <= CHOSEN_MAX_BYTES;
  });
  return { at: now.toISOString(), issues: fitting, leftOut: live.length - fitting.length };
}

/** Whether it ends within 30 days. @param at ISO 8601 */
export const isEnding = (expiresAt: string, at: string): boolean => Date.parse(expiresAt) - Date.parse(at) <= ENDING_DAYS * DAY_MS;

/** Reads the site of known issues: a host, or an http or https address without a path. @returns it as `siteOf` returns it; null if it is neither */
export function readSite(text: string): string | null {
  const address = /^https?:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(address)) return null;
  const { origin, href } = new URL(address);
  return href === `${origin}/` ? siteOf(address) : null;
}

/** Identifies what a known issue is about. */
export const targetKey = ({ fingerprint, rule, selector }: KnownIssueTarget): string => fingerprint ?? placeKey(rule!, selector!);
/** What one known issue of a site has. Whether something is a fault, and whether it is accepted, are two questions. */
export const claimKey = (issue: KnownIssueTarget): string => (isDecision(issue) ? `review\n${targetKey(issue)}` : targetKey(issue));
/** The key of elements with one selector that fail one rule. */
export const placeKey = (rule: string, selector: string): string => `${rule}\n${selector}`;

/** Returns what is wrong with what a known issue is about, or null. */
export function targetMistake({ fingerprint, rule, selector }: KnownIssueTarget): string | null {
  const isWhole = fingerprint === undefined ? rule !== undefined && selector !== undefined : rule === undefined && selector === undefined;
  return isWhole ? null : 'A known issue has either a fingerprint, or a rule and a selector.';
}

/** What is wrong with the second of two in a manifest that are about the same, if neither has ended. */
export const SAME_TARGET = 'is about the same as one before it';

/** Returns what is wrong with the end of a known issue, or null. */
export function endMistake(expiresAt: Date, now: Date): string | null {
  if (expiresAt <= now) return 'A known issue must end in the future.';
  const isSoon = expiresAt.getTime() - now.getTime() <= KNOWN_ISSUE_MAX_DAYS * DAY_MS;
  return isSoon ? null : `A known issue must end within ${KNOWN_ISSUE_MAX_DAYS} days. It can be prolonged later.`;
}

/** What a scan would have without its known issues, and what became of them. */
export interface KnownOutcome {
  /** 0 to 100, one decimal. */
  score: number;
  violations: Counts;
  /** The score without confirmed faults. Only if there are decisions. */
  scoreWithoutDecisions?: number;
  /** The numbers of known issues that matched an element, and that matched none. */
  matched: number;
  unmatched: number;
  /** How many of all end within 30 days. */
  ending: number;
}
