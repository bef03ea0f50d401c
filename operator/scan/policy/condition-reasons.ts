/** The reasons why scans end without a result: a condition reason and an actionable message for each. */
import type { Organisation } from '../../../core/organisation.ts';
import { TEST_LABEL, type AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import type { PodFailed, PodFailureReason } from '../../../core/protocol/pod-messages.ts';
import type { PageProgress } from '../../../core/scan/counts.ts';
import { NOT_CHARGED, POD_PHASES, type CancelReason, type FailureReason, type Phase } from '../../../core/scan/phases.ts';
import { conditionOf } from '../../runtime/conditions.ts';

/** The maximum length of a status message, in characters, to stay far below the size limit of Kubernetes objects. */
const MESSAGE_MAX = 1000;

export interface EndReason {
  phase: 'failed' | 'canceled';
  /** The `Succeeded` condition's reason. */
  reason: FailureReason | CancelReason;
  message: string;
  /** The pages so far, if they are charged although there is no result. */
  pages?: PageProgress;
}

export interface WaitReason {
  /** The `Admitted` condition's reason. */
  reason: string;
  message: string;
}

/** Why an admitted scan goes back into its queue: conditions of the cluster that its administrators can cure, never verdicts. */
export const REQUEUE_REASONS = [
  'LaunchFailed',
  'LaunchForbidden',
  'PodForbidden',
  'PodNotCreated',
  'QuotaExceeded',
  'Unschedulable',
] as const;
export type RequeueReason = (typeof REQUEUE_REASONS)[number];
export type Requeue = WaitReason & { reason: RequeueReason };

export const isOfCluster = (problem: { reason: string; message: string }): problem is Requeue =>
  REQUEUE_REASONS.some((reason) => reason === problem.reason);

/** The condition reason for each failure of a pod, and the message if the pod does not send one. */
const POD_REASONS: Readonly<Record<PodFailureReason, { reason: FailureReason; message: string }>> = {
  target_unreachable: {
    reason: 'TargetUnreachable',
    message: 'The first page could not be loaded; check that the URL is reachable from the internet.',
  },
  target_refused: { reason: 'TargetRefused', message: 'The URL leads to an address that may not be scanned.' },
  target_not_html: { reason: 'TargetNotHtml', message: 'The URL does not lead to a web page.' },
  sign_in_required: { reason: 'SignInRequired', message: 'The first page opens only after a sign-in; give the scan a sign-in.' },
  bot_wall: { reason: 'BotWall', message: 'The site displays its bot protection; let the scanner through.' },
  nothing_shown: { reason: 'NothingShown', message: 'The first page shows no visible text, control or picture.' },
  redirected_away: { reason: 'RedirectedAway', message: 'The URL leads to another site; submit the URL that it redirects to.' },
  no_page_tested: { reason: 'NoPageTested', message: 'No page of the site could be tested.' },
  deadline_exceeded: { reason: 'DeadlineExceeded', message: 'The scan took too long; try fewer pages.' },
  prepare_failed: { reason: 'PrepareFailed', message: 'A step of crawl.prepare failed; check the steps against the pages of the site.' },
  sign_in_failed: { reason: 'SignInFailed', message: 'The site did not accept the sign-in; check auth and the Secret that it names.' },
  robots_disallowed: {
    reason: 'RobotsDisallowed',
    message: "The site's robots.txt forbids the first page; set crawl.respectRobots to false if the site is yours.",
  },
  report_too_large: { reason: 'ReportTooLarge', message: 'The report of the scan is too large; try fewer pages.' },
};

const UNKNOWN_FAILURE = {
  reason: 'GaveUp',
  message: 'The scanner failed for a reason that this version of Curbcut does not know.',
} as const;

/** Reduces untrusted text to one line without control characters, truncated to the maximum length. */
export function sanitize(text: string): string {
  // Control characters, line ends and direction marks, which terminals and log viewers interpret.
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ').trim();
  return line.length > MESSAGE_MAX ? `${line.slice(0, MESSAGE_MAX - 1)}…` : line;
}

/** The end of a scan that costs nothing. */
const failed = (reason: FailureReason, message: string): EndReason => ({
  phase: 'failed',
  reason,
  message: sanitize(`${message} ${NOT_CHARGED}`),
});

/** The pod failed permanently. Uses the pod's message if it sent one. */
export function failedPermanently(failure: PodFailed): EndReason {
  const { reason } = failure;
  const known = Object.hasOwn(POD_REASONS, reason) ? POD_REASONS[reason as PodFailureReason] : UNKNOWN_FAILURE;
  const message = sanitize(failure.message);
  return failed(known.reason, message === '' ? known.message : message);
}

/** The operator stops the pod of a canceled scan, and waits for the report of the pages that were tested. */
export const CANCELING: WaitReason = {
  reason: 'Canceling',
  message: 'The scan was canceled; the scanner stores the report of the pages that were tested until then.',
};

/** The caller canceled the scan. The pages tested so far are charged. @param noReport why tested pages have no report: the end of a sentence */
export function canceled(scan: AccessibilityScan, pages: PageProgress, noReport: string): EndReason {
  const missing = pages.scanned === 0 ? '' : ` There is no report, because ${noReport}.`;
  return { phase: 'canceled', reason: 'Canceled', message: sanitize(canceledMessage(scan, pages) + missing), pages };
}

const canceledMessage = (scan: AccessibilityScan, pages: Pick<PageProgress, 'scanned'>): string =>
  `The scan was canceled. ${chargedFor(scan, pages)}`;

export const partialMessage = (scan: AccessibilityScan, pages: Pick<PageProgress, 'scanned'>): string =>
  `${canceledMessage(scan, pages)} The report is partial: it has only the pages that were tested until then.`;

/** The resource is being deleted. It costs as much as canceling, or else deleting would be the free way to cancel. */
export function deleted(scan: AccessibilityScan, pages: PageProgress): EndReason {
  return { phase: 'canceled', reason: 'Deleted', message: `The scan was deleted before it ended. ${chargedFor(scan, pages)}`, pages };
}

function chargedFor({ metadata }: AccessibilityScan, { scanned }: Pick<PageProgress, 'scanned'>): string {
  if (scanned === 0 || metadata.labels?.[TEST_LABEL] === 'true') return NOT_CHARGED;
  return scanned === 1 ? 'The page tested until then was charged.' : `The ${scanned} pages tested until then were charged.`;
}

export const SUBMISSION_ABANDONED = failed(
  'SubmissionAbandoned',
  'The submission that created this scan was not completed; submit it again.',
);

export const SCAN_ID_TAKEN = failed(
  'ScanIdTaken',
  'Another resource already has this scan ID. Apply the scan without the scan-id annotation.',
);

export function noOrganisation(namespace: string): EndReason {
  const message = `No organisation is charged for namespace ${namespace}. Ask an administrator to add the namespace to an Organisation (spec.namespaces) or to run "curbcut-admin organisation namespaces"; then delete this scan and apply it again.`;
  return { phase: 'failed', reason: 'NoOrganisation', message: sanitize(message) };
}

/** A scan of a schedule of the dashboard. Only the record of the schedule says whose it is. */
export const NOT_RECORDED = failed(
  'NoOrganisation',
  'The schedule of this scan was deleted in the dashboard, or the record that says which organisation is charged for it is lost.',
);

/** The organisation is blocked, which it also is when its Organisation resource is deleted. */
export function organisationBlocked({ id, deletedAt }: Pick<Organisation, 'id' | 'deletedAt'>): EndReason {
  const why =
    deletedAt === null
      ? `The organisation ${id} is blocked; ask the administrator of this installation.`
      : `The organisation ${id} was deleted; ask the administrator of this installation.`;
  return failed('OrganisationBlocked', why);
}

export const tooManyPages = (asked: number, allowed: number): EndReason =>
  failed('TooManyPages', `maxPages is ${asked}, but this installation allows ${allowed} at most.`);

export const addressListRefused = (message: string): EndReason => failed('AddressListRefused', message);

export const podTemplateRefused = (message: string): EndReason => failed('PodTemplateRefused', message);

export const metadataRefused = (mistake: string): EndReason =>
  failed('MetadataRefused', `${mistake} Correct the annotations metadata.curbcut.dev/KEY, then delete this scan and apply it again.`);

export const insufficientCredits = (needed: number, balance: number): EndReason =>
  failed(
    'InsufficientCredits',
    `The scan needs ${needed} ${needed === 1 ? 'credit' : 'credits'}, but ${balance} ${balance === 1 ? 'is' : 'are'} left. Lower maxPages or add credits.`,
  );

export const NAME_SERVERS_UNAVAILABLE: WaitReason = {
  reason: 'NameServersUnavailable',
  message: 'The name servers do not answer for the host of the URL; the scan asks them again.',
};

/** The scan's credits could not be reserved, or its Job or pod could not be created or placed. The scan is back in its queue. */
export const requeued = ({ reason, message }: Requeue): Requeue => ({
  reason,
  message: sanitize(`The scan could not be started; it waits in its queue and is tried again: ${message}`),
});

/** The name of the scan's queue is misspelt, or the ScanQueue is not created yet. */
export function queueNotFound(queue: string, namespace: string): WaitReason {
  return {
    reason: 'QueueNotFound',
    message: `There is no ScanQueue ${queue} in namespace ${namespace}; the scan waits until it is created. To use another queue, apply another scan.`,
  };
}

export function queueNotAllowed(queue: string, namespace: string, organisation: string): WaitReason {
  return {
    reason: 'QueueNotAllowed',
    message: `The ScanQueue ${queue} is not for scans of organisation ${organisation} in namespace ${namespace} (allowedOrganisations, allowedNamespaces); the scan waits until it may use it. To use another queue, apply another scan.`,
  };
}

export const targetRefused = (message: string): EndReason => failed('TargetRefused', message);

/** @param why what the scan waits for, if it is not only its turn */
export function queuedTooLong(hours: number, why: string | null): EndReason {
  const time = hours === 1 ? 'an hour' : `${Number(hours.toFixed(1))} hours`;
  return failed('QueueDeadline', `The scan waited ${time} in the queue; submit it again later.${why === null ? '' : ` ${why}`}`);
}

export const timedOut = (seconds: number): EndReason =>
  failed('DeadlineExceeded', `The scan did not finish within ${seconds} s; try fewer pages.`);

/** The condition reason of a scan whose pod runs. */
export const conditionReasonOf = (phase: Phase): string => phase[0]!.toUpperCase() + phase.slice(1);

/** The condition reasons of a scan that goes on, or waits for no more than its turn. */
const GOES_ON: ReadonlySet<string | undefined> = new Set([
  ...['Queued', 'Launching', 'Ending'],
  ...POD_PHASES.map(conditionReasonOf),
  undefined,
]);

/** What a live scan waits for, if it is not only its turn; null if it goes on. */
export function waitMessage({ status }: AccessibilityScan): string | null {
  const why = conditionOf(status?.conditions, 'Succeeded');
  return GOES_ON.has(why?.reason) ? null : why!.message;
}

export const pendingTooLong = (seconds: number, cause: { reason: FailureReason; message: string }): EndReason =>
  failed(cause.reason, `The scanner could not start within ${seconds} s: ${cause.message}`);

export const stuck = (seconds: number): EndReason =>
  failed('Stuck', `The scanner made no progress for ${seconds} s and was stopped; submit the scan again.`);

export const JOB_LOST = failed('JobLost', "The scan's Job was deleted before it finished; submit the scan again.");

export const nameTaken = (name: string): EndReason =>
  failed(
    'NameTaken',
    `A Job named ${name} exists and does not belong to this scan; delete the Job and this scan, then apply the scan again.`,
  );

/** The API server found the scan's Job or Secret invalid, as with a malformed podTemplate. */
export const launchRefused = (reason: string): EndReason => failed('LaunchRefused', `The cluster rejected the scanner's Job: ${reason}`);

/** The condition reason while results cannot be read, and if they could not be read for too long. */
export const STORE_UNAVAILABLE = 'StoreUnavailable';

export const storeUnavailable = (hours: number): EndReason =>
  failed(STORE_UNAVAILABLE, `The results could not be read for ${hours} hours; submit the scan again.`);

export const resultsRefused = (reason: string): EndReason => failed('ResultsRefused', `The scanner's results were refused: ${reason}`);

export const RUN_AGAIN: WaitReason = { reason: 'Retrying', message: 'The scanner ended without results; it is started once more.' };

/** The results of a pod of another version cannot be verified. @param version what the pod says; absent: unknown */
export function otherVersion(version: string, image: string | undefined): WaitReason {
  const made = [version, ...(image === undefined ? [] : [`image ${image}`])].join(', ');
  return {
    reason: 'Retrying',
    message: sanitize(
      `The results were made by another version of Curbcut (${made}) and cannot be verified; the scan runs once more with the current image.`,
    ),
  };
}

export const NO_RESULTS = failed('NoResults', 'The scanner ended without results; submit the scan again.');

export const crashed = (attempts: number, last: string): EndReason =>
  failed(
    'Crashed',
    `The scanner stopped unexpectedly ${attempts === 1 ? 'once' : `${attempts} times`} (last: ${last}). Try fewer pages or more memory (podTemplate.resources).`,
  );

export const podsLost = (lost: number, last: string): EndReason =>
  failed(
    'PodsLost',
    `The scanner's pods were deleted or lost ${lost === 1 ? 'once' : `${lost} times`} (last: ${last}). Ask the administrator.`,
  );

export const FAILED_WITHOUT_REASON = failed('GaveUp', 'The scanner failed without giving a reason; submit the scan again.');

export const notWatched = (namespace: string, operatorClass: string): EndReason =>
  failed(
    'NotWatched',
    `No operator of this installation acts on scans of class ${operatorClass} in namespace ${namespace} any more (scans.extraNamespaces, scans.class).`,
  );

export const RESOURCE_GONE = `The scan's Kubernetes resource was deleted before the scan ended. ${NOT_CHARGED}`;
