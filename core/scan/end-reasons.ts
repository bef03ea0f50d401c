/** Why scans end: the reasons, and what each means for people who only know their page. Pure. */
import type { TerminalPhase } from './phases.ts';

/** Every reason of the `Succeeded` condition of an ended scan, by phase. The metrics start each at 0, so that alerts see the first. */
export const END_REASONS = {
  done: ['Done'],
  canceled: ['Canceled', 'Deleted'],
  failed: [
    'ContainerConfig',
    'Crashed',
    'DeadlineExceeded',
    'GaveUp',
    'ImagePull',
    'InsufficientCredits',
    'JobLost',
    'LaunchRefused',
    'MetadataRefused',
    'NameTaken',
    'NoOrganisation',
    'NoPageTested',
    'NoResults',
    'NotWatched',
    'OrganisationBlocked',
    'PodForbidden',
    'PodNotCreated',
    'PodPending',
    'PrepareFailed',
    'QueueDeadline',
    'QuotaExceeded',
    'ReportTooLarge',
    'ResultsRefused',
    'RobotsDisallowed',
    'ScanIdTaken',
    'StoreUnavailable',
    'SignInFailed',
    'SignInSecretMissing',
    'Stuck',
    'SubmissionAbandoned',
    'TargetNotHtml',
    'TargetRefused',
    'TargetUnreachable',
    'PodTemplateRefused',
    'TooManyPages',
    'Unschedulable',
    'UserNamespacesUnavailable',
  ],
} as const satisfies Record<TerminalPhase, readonly string[]>;

export type FailureReason = (typeof END_REASONS)['failed'][number];
export type CancelReason = (typeof END_REASONS)['canceled'][number];

/**
 * The failures that readers tell apart; `report/words/` has a text for each. `ours`: the service, its configuration or its cluster
 * failed, not the page.
 */
export const FAILURE_KINDS = [
  'unreachable',
  'refused',
  'notHtml',
  'untestable',
  'signIn',
  'prepare',
  'robots',
  'tooSlow',
  'tooLarge',
  'crashed',
  'ours',
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** The failures that the page or the request caused. All others are ours. */
const CAUSED_BY_PAGE: ReadonlyMap<string | undefined, FailureKind> = new Map(
  Object.entries({
    TargetUnreachable: 'unreachable',
    TargetRefused: 'refused',
    TargetNotHtml: 'notHtml',
    NoPageTested: 'untestable',
    SignInFailed: 'signIn',
    SignInSecretMissing: 'signIn',
    PrepareFailed: 'prepare',
    RobotsDisallowed: 'robots',
    DeadlineExceeded: 'tooSlow',
    Stuck: 'tooSlow',
    ReportTooLarge: 'tooLarge',
    Crashed: 'crashed',
  } satisfies Partial<Record<FailureReason, FailureKind>>),
);

/** @param reason that of the `Succeeded` condition. Undefined: the resource was gone before it had one */
export function failureKindOf(reason: string | undefined): FailureKind {
  return CAUSED_BY_PAGE.get(reason) ?? 'ours';
}

/** The last sentence of the message of a scan that cost nothing. */
export const NOT_CHARGED = 'Nothing was charged.';

/** The message of an ended scan for people who never pay. */
export const withoutCharge = (message: string): string => message.replaceAll(NOT_CHARGED, '').trim();
