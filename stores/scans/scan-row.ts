/** A row of the read model, and the rules for its changes. Pure, so that tests need no database. */
import { isDeepStrictEqual } from 'node:util';
import { createHash } from 'node:crypto';
import type { BaselineChoice } from '../../core/scan/baseline.ts';
import type { Outcome } from '../../core/scan/outcome.ts';
import type { PageProgress } from '../../core/scan/counts.ts';
import type { ReportObjects } from '../../report/schema/objects.ts';
import type { SignInSpec, SubmittedAuth } from '../../core/scan/sign-in.ts';
import { type ScanOptions, withDefaults } from '../../core/scan/options.ts';
import { type Metadata, pairText, readPair } from '../../core/scan/metadata.ts';
import { isTerminal, mayMove, type Phase } from '../../core/scan/phases.ts';
import { siteOf } from '../../core/scan/site.ts';

/** `accepted`: it runs and may be charged. `abandoned`: it never runs, and its credits are returned. */
export type Submission = 'pending' | 'accepted' | 'abandoned';

export interface ScanRow {
  /** Scan id, a UUID. */
  id: string;
  organisation: string;
  /** `api`: submitted over HTTP, so the API created the resource; `manifest`: applied with kubectl or GitOps. */
  origin: 'api' | 'manifest';
  resource: { namespace: string; name: string };
  /** The name of its ScanQueue. Absent: the default one, which submissions over HTTP use. */
  queue?: string;
  /** Whether the scan will run. Decided once, from `pending`, by `Scans.accept` or `Scans.abandon`. */
  submission: Submission;
  options: ScanOptions;
  /** Absent: none. */
  metadata?: Metadata;
  /** Its sign-in, if it was submitted over HTTP with one. */
  auth?: SubmittedAuth;
  /** Its pages are tested with a sign-in. Absent: they are not. */
  signedIn?: true;
  /** Submitted with a test key: it costs nothing, and no other scan is compared with it. Absent: it was not. */
  test?: true;
  /** The host of its URL, as `siteOf` returns it. */
  site: string;
  /** Which scans of the site are comparable, as `optionsKeyOf` returns it. */
  optionsKey: string;
  /** The earlier scan that it is compared with. */
  baseline?: BaselineChoice;
  /** Who submitted it over HTTP or in the dashboard, as the audit log names actors. */
  submittedBy?: string;
  /** It was canceled over HTTP or in the dashboard. The operator ends it within a minute. */
  canceling?: true;
  /** The name of the ScanSchedule that created it. */
  schedule?: string;
  pagesRequested: number;
  /** Credits reserved for it; 0 until it is accepted. */
  pagesReserved: number;
  phase: Phase;
  /** Incremented by each change that a reader can see. */
  version: number;
  pages: PageProgress;
  /** Null until the scan is done, or was canceled and has a report of the pages that were tested until then. */
  outcome: Outcome | null;
  passed: boolean | null;
  message: string | null;
  /** Why it ended without a result: one of `END_REASONS`. Absent if it did not, or its resource was gone. */
  reason?: string;
  reports: ReportObjects | null;
  /** Credits that were spent on it. Absent until it has ended. */
  pagesCharged?: number;
  createdAt: Date;
  updatedAt: Date;
  /** When its pod began. Absent until then. */
  startedAt?: Date;
  finishedAt: Date | null;
}

/** Whether it checks a page of an earlier scan again, so that it is no result of a site, and nothing is compared with it. */
export const isCheck = ({ baseline }: Pick<ScanRow, 'baseline'>): boolean => baseline?.check !== undefined;

/** What distinguishes a new scan; the rest of its row is derived. */
export type NewScan = Pick<
  ScanRow,
  | 'id'
  | 'organisation'
  | 'origin'
  | 'resource'
  | 'queue'
  | 'submission'
  | 'auth'
  | 'test'
  | 'options'
  | 'metadata'
  | 'baseline'
  | 'submittedBy'
  | 'schedule'
  | 'createdAt'
>;

/** A row before it is stored, which adds what is derived. */
export type NewRow = Omit<ScanRow, 'version' | 'updatedAt' | 'site'>;

/**
 * The row of a scan that nothing has happened to yet.
 * @param signIn its sign-in, which decides what it is compared with. The row keeps only `auth`, which can be submitted again.
 */
export function newRow(scan: NewScan, signIn: SubmittedAuth | SignInSpec | undefined = scan.auth): NewRow {
  return {
    ...scan,
    ...(signIn && { signedIn: true as const }),
    optionsKey: optionsKeyOf({ ...scan, auth: signIn }),
    pagesRequested: scan.options.maxPages,
    pagesReserved: 0,
    phase: 'queued',
    pages: { scanned: 0, failed: 0, total: 0 },
    outcome: null,
    passed: null,
    message: null,
    reports: null,
    finishedAt: null,
  };
}

/** The fields of a row that may change. Absent fields stay unchanged. */
export type ScanChange = Partial<
  Pick<
    ScanRow,
    | 'phase'
    | 'pages'
    | 'outcome'
    | 'passed'
    | 'message'
    | 'reason'
    | 'reports'
    | 'startedAt'
    | 'finishedAt'
    | 'pagesReserved'
    | 'pagesCharged'
  >
>;

/**
 * Returns the effective part of a change, or null if there is none. A row in a terminal phase does not change. A phase never moves
 * backwards, and page counts decrease only at the end. Fields that already have the value are left out.
 */
export function changedFields(row: ScanRow, change: ScanChange): ScanChange | null {
  if (isTerminal(row.phase)) return null;
  const wanted: ScanChange = { ...change };
  if (wanted.phase !== undefined && !mayMove(row.phase, wanted.phase)) delete wanted.phase;
  // The end states the pages that count for the scan, whatever a Job that was lost had tested.
  const ends = wanted.phase !== undefined && isTerminal(wanted.phase);
  if (wanted.pages !== undefined && !ends) wanted.pages = farthest(row.pages, wanted.pages);
  const changed = Object.entries(wanted).filter(
    ([field, value]) => value !== undefined && !isDeepStrictEqual(value, row[field as keyof ScanChange]),
  );
  return changed.length === 0 ? null : Object.fromEntries(changed);
}

function farthest(now: PageProgress, then: PageProgress): PageProgress {
  return {
    scanned: Math.max(now.scanned, then.scanned),
    failed: Math.max(now.failed, then.failed),
    total: Math.max(now.total, then.total),
  };
}

/** The options that decide what a scan finds on a site that stays the same. Scans that differ in them cannot be compared. */
const comparedOptions = ({ wcagLevel, wcagVersion, maxPages, crawl }: ScanOptions) => ({ wcagLevel, wcagVersion, maxPages, ...crawl });
const DEFAULTS: Readonly<Record<string, unknown>> = comparedOptions(withDefaults({ url: '' }));

const OPTIONS_KEY_LENGTH = 16;

/**
 * Identifies the compared options of a scan and its sign-in, whatever the order of their fields. Scans of test keys have keys of
 * their own. Defaults are no part of it: an option that a later version adds changes no key.
 */
export function optionsKeyOf({ options, auth, test }: { options: ScanOptions; auth?: SubmittedAuth | SignInSpec; test?: true }): string {
  const sorted = (_name: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  const chosen = Object.entries(comparedOptions(options)).filter(([name, value]) => !isDeepStrictEqual(value, DEFAULTS[name]));
  const text = JSON.stringify([Object.fromEntries(chosen), auth ?? null, test === true], sorted);
  return createHash('sha256').update(text).digest('hex').slice(0, OPTIONS_KEY_LENGTH);
}

/**
 * A row as it is stored. Its id is the document's id. Metadata is a list of `KEY=VALUE`, so that one index finds the scans with any pair, and because
 * keys may have dots, which mean nested fields to MongoDB.
 */
export type ScanDocument = Omit<ScanRow, 'id' | 'metadata'> & {
  _id: string;
  metadata?: string[];
  reportsRemoved?: true;
  /** When its reports are removed next: again after the first time, because a conversion may have been under way, or since an attempt failed. */
  removeAt?: Date;
  /** Since its end, until its webhooks are in the queue. */
  unannounced?: true;
  /** Since its end, until it is in the list of sites. */
  unlisted?: true;
};

export function toRow({
  _id,
  metadata,
  reportsRemoved: _removed,
  removeAt: _removeAt,
  unannounced: _unannounced,
  unlisted: _unlisted,
  ...rest
}: ScanDocument): ScanRow {
  return { id: _id, ...rest, ...(metadata && { metadata: Object.fromEntries(metadata.map((pair) => readPair(pair)!)) }) };
}

/** Returns a row if an organisation may see it: its own, unless it was abandoned, because such a scan never existed for callers. */
export function toVisibleRow(document: ScanDocument | null | undefined, organisation: string): ScanRow | null {
  return document?.organisation === organisation && document.submission !== 'abandoned' ? toRow(document) : null;
}

/** The document of a new row, with its site. */
export function toDocument({ id, metadata = {}, ...row }: NewRow): ScanDocument {
  const pairs = Object.entries(metadata).map(pairText);
  return {
    _id: id,
    ...row,
    ...(pairs.length > 0 && { metadata: pairs }),
    site: siteOf(row.options.url),
    version: 1,
    updatedAt: row.createdAt,
  };
}
