/**
 * The protocol between operator and scanner pod: the file that the pod reads, and what it says on NATS and in its
 * termination message. What a pod says comes from a hostile place, so every message has a schema and a size.
 */
import { Type, type Static } from 'typebox';
import { oneOf } from '../schemas.ts';
import { ScanOptions } from '../scan/options.ts';
import { POD_PHASES } from '../scan/phases.ts';

/** Where the pod finds its input, mounted from the scan's Secret (key `scan.json`). */
export const POD_INPUT_PATH = '/run/curbcut/scan.json';
/** Where the pod finds the scan's sign-in, if it has one: files `username` and `password` (HTTP basic), `cookie` (a Cookie header's value). */
export const POD_AUTH_PATH = '/run/curbcut-auth';
/** The largest message that is read from a pod, in bytes. Kubernetes cuts termination messages at 4,096. */
export const POD_MESSAGE_MAX_BYTES = 4096;
/** The largest export and PDF that are taken in, in bytes. */
export const EXPORT_MAX_BYTES = 256 * 1024 * 1024;
export const PDF_MAX_BYTES = 64 * 1024 * 1024;

const WholeNumber = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const identity = { attempt: WholeNumber, shard: WholeNumber };

/**
 * Identifies a pod of a scan. Attempts count from 0 without gaps, one for each pod that replaces another; shards are the
 * parts of a scan that run side by side (today there is one, 0). The Job controller assigns both.
 */
export interface PodIdentity {
  attempt: number;
  shard: number;
}

/** The annotations in which the Job controller of Kubernetes states a pod's identity. The pod reads them as environment variables. */
export const POD_IDENTITY_ANNOTATIONS = {
  JOB_COMPLETION_INDEX: 'batch.kubernetes.io/job-completion-index',
  JOB_INDEX_FAILURE_COUNT: 'batch.kubernetes.io/job-index-failure-count',
  JOB_INDEX_IGNORED_FAILURE_COUNT: 'batch.kubernetes.io/job-index-ignored-failure-count',
} as const;

/** Returns the identity that these counts state. Kubernetes counts evicted pods apart from failed ones; both were attempts. */
export function podIdentity(counts: Record<keyof typeof POD_IDENTITY_ANNOTATIONS, number>): PodIdentity {
  return { attempt: counts.JOB_INDEX_FAILURE_COUNT + counts.JOB_INDEX_IGNORED_FAILURE_COUNT, shard: counts.JOB_COMPLETION_INDEX };
}

/** Presigned PUT URLs for the objects of one attempt at one shard. */
const UploadSlot = Type.Object({ ...identity, export: Type.String(), pdf: Type.String() });

/**
 * Returns the upload slot of a pod: its own attempt's, or the last one for an attempt beyond it. Attempts that share a slot
 * may overwrite each other's objects; this is safe, because the operator accepts only the digests that a pod announced.
 * @param slots ordered by attempt
 */
export function uploadSlotOf<Slot extends PodIdentity>(slots: readonly Slot[], pod: PodIdentity): Slot | undefined {
  return slots.findLast(({ attempt, shard }) => shard === pod.shard && attempt <= pod.attempt);
}

/** What a scanner pod is told to do. */
export const PodInput = Type.Object({
  scanId: Type.String(),
  /** The HTTP request that submitted the scan, for the log. */
  requestId: Type.Optional(Type.String({ maxLength: 128 })),
  /** Where spans go and what they are part of; absent where nothing is traced. */
  tracing: Type.Optional(Type.Object({ endpoint: Type.String(), traceparent: Type.String() })),
  /** When the scan was submitted, RFC 3339. */
  submittedAt: Type.String(),
  /** `maxPages` is the number of pages that credits were reserved for. */
  options: ScanOptions,
  /** Pages that the caller asked for; more than `options.maxPages` where credits were short. */
  pagesRequested: Type.Integer({ minimum: 1 }),
  /** One slot for each attempt that is likely, ordered by attempt. */
  uploads: Type.Array(UploadSlot, { minItems: 1, maxItems: 1000 }),
  /** Absent where the bus cannot vouch for a single scan: then the pod says nothing until its end. */
  messages: Type.Optional(Type.Object({ url: Type.String(), subject: Type.String(), jwt: Type.String(), seed: Type.String() })),
  /** When the pod must have ended, RFC 3339. */
  deadline: Type.String(),
  /** CIDRs, host names or `address:port` that the address rule lets through. */
  allowTargets: Type.Array(Type.String()),
  /** CIDRs that are refused although they look public: the cluster's own. */
  denyTargets: Type.Array(Type.String()),
  /** Tabs that test pages side by side. */
  workers: Type.Integer({ minimum: 1, maximum: 8 }),
  /** The time that one page may take, navigation and rules together, in milliseconds. */
  pageBudgetMs: Type.Integer({ minimum: 1000 }),
});
export type PodInput = Static<typeof PodInput>;

const Count = Type.Integer({ minimum: 0, maximum: 1_000_000_000 });
const Stored = Type.Object(
  { bytes: Type.Integer({ minimum: 1 }), sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) },
  { additionalProperties: false },
);
const Pages = Type.Object({ scanned: Count, failed: Count, total: Count }, { additionalProperties: false });

/** How far the pod is. `sequence` rises by one a message within an attempt. */
export const PodProgress = Type.Object(
  {
    kind: Type.Literal('progress'),
    scanId: Type.String({ maxLength: 64 }),
    ...identity,
    sequence: Count,
    phase: oneOf(POD_PHASES),
    pages: Pages,
  },
  { additionalProperties: false },
);
export type PodProgress = Static<typeof PodProgress>;

/** The pod's results are stored and complete. The last message of a good scan, and its termination message. */
export const PodStored = Type.Object(
  {
    kind: Type.Literal('stored'),
    scanId: Type.String({ maxLength: 64 }),
    ...identity,
    pages: Pages,
    export: Stored,
    pdf: Stored,
  },
  { additionalProperties: false },
);
export type PodStored = Static<typeof PodStored>;

/**
 * Why a scan cannot succeed however often it is tried:
 * `target_unreachable` the first page did not load; `target_refused` the address rule forbids it;
 * `target_not_html` it is not a web page; `no_page_tested` nothing on the site could be tested; `deadline_exceeded` time ran out;
 * `sign_in_failed` the given sign-in was not accepted; `robots_disallowed` robots.txt forbids the first page.
 */
export const POD_FAILURES = [
  'target_unreachable',
  'target_refused',
  'target_not_html',
  'no_page_tested',
  'deadline_exceeded',
  'sign_in_failed',
  'robots_disallowed',
] as const;
export type PodFailureReason = (typeof POD_FAILURES)[number];

/** The pod gave up for good. Last message, and termination message with exit code `EXIT_PERMANENT`. */
export const PodFailed = Type.Object(
  {
    kind: Type.Literal('failed'),
    scanId: Type.String({ maxLength: 64 }),
    ...identity,
    reason: oneOf(POD_FAILURES),
    message: Type.String({ maxLength: 1000 }),
    pages: Pages,
  },
  { additionalProperties: false },
);
export type PodFailed = Static<typeof PodFailed>;

export const PodMessage = Type.Union([PodProgress, PodStored, PodFailed]);
export type PodMessage = Static<typeof PodMessage>;

/** Exit code of a scanner that gave up for good: the Job does not try again. Any other code but 0 is tried again. */
export const EXIT_PERMANENT = 42;
