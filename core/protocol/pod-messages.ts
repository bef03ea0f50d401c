/**
 * The protocol between operator and scanner pod: the pod's input file, and its messages on NATS and in its termination
 * message. Messages are untrusted, because a pod opens hostile pages: each has a schema and a maximum size. A message may have
 * more fields than these, because a pod may be of the next version.
 */
import { Type, type Static } from 'typebox';
import { oneOf } from '../schemas.ts';
import { Metadata } from '../scan/metadata-schema.ts';
import { BaselineOutcome } from '../scan/baseline.ts';
import { ChosenKnownIssues } from '../scan/known-issues.ts';
import { PODS_MAX, ScanOptions } from '../scan/options.ts';
import { SignInPlan } from '../scan/sign-in.ts';
import { POD_PHASES } from '../scan/phases.ts';

/** The path of the pod's input, mounted from the scan's Secret (key `scan.json`). */
export const POD_INPUT_PATH = '/run/curbcut/scan.json';
/** The folder of the scan's Secret with the site's credentials, if it has any: one file per key. */
export const POD_AUTH_PATH = '/run/curbcut-auth';
/** The maximum size of a pod's message, in bytes. Kubernetes truncates termination messages at 4,096. */
export const POD_MESSAGE_MAX_BYTES = 4096;
/** The maximum sizes of export and PDF, in bytes. */
export const EXPORT_MAX_BYTES = 256 * 1024 * 1024;
export const PDF_MAX_BYTES = 64 * 1024 * 1024;
/** The maximum size of all pictures of a scan, in bytes. */
export const PICTURES_MAX_BYTES = 16 * 1024 * 1024;
/** The content type of the object with all pictures. Not an image type, because the object has many. */
export const PICTURES_TYPE = 'application/octet-stream';

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

/** The annotations of the Job controller that identify a pod. The pod reads them as environment variables. */
export const POD_IDENTITY_ANNOTATIONS = {
  JOB_COMPLETION_INDEX: 'batch.kubernetes.io/job-completion-index',
  JOB_INDEX_FAILURE_COUNT: 'batch.kubernetes.io/job-index-failure-count',
  JOB_INDEX_IGNORED_FAILURE_COUNT: 'batch.kubernetes.io/job-index-ignored-failure-count',
} as const;

/** Returns the identity of a pod. Kubernetes counts evicted and failed pods separately; both were attempts. */
export function podIdentity(counts: Record<keyof typeof POD_IDENTITY_ANNOTATIONS, number>): PodIdentity {
  return { attempt: counts.JOB_INDEX_FAILURE_COUNT + counts.JOB_INDEX_IGNORED_FAILURE_COUNT, shard: counts.JOB_COMPLETION_INDEX };
}

/**
 * Presigned PUT URLs for the objects of one attempt at one shard. `result` is for the pod's last upload: its message
 * `stored`, by which the operator finds the results if it missed the message.
 */
const UploadSlot = Type.Object({ ...identity, export: Type.String(), pdf: Type.String(), pictures: Type.String(), result: Type.String() });

/**
 * Returns the upload slot of a pod: its own attempt's, or the last one for an attempt beyond it. Attempts that share a slot
 * may overwrite each other's objects; this is safe, because the operator accepts only the digests that a pod announced.
 * @param slots ordered by attempt
 */
export function uploadSlotOf<Slot extends PodIdentity>(slots: readonly Slot[], pod: PodIdentity): Slot | undefined {
  return slots.findLast(({ attempt, shard }) => shard === pod.shard && attempt <= pod.attempt);
}

/** The most bytes of a message between pods of a scan. Larger ones are sent in parts. A server of the bus accepts 1 MiB by default. */
export const TEAM_MESSAGE_MAX_BYTES = 512 * 1024;

/** The place of a pod among those of its scan, and its access to the others over the message bus: it can speak only for itself. */
export const Team = Type.Object({
  index: Type.Integer({ minimum: 0, maximum: PODS_MAX - 1 }),
  pods: Type.Integer({ minimum: 2, maximum: PODS_MAX }),
  url: Type.String(),
  subject: Type.String(),
  jwt: Type.String(),
  seed: Type.String(),
});
export type Team = Static<typeof Team>;

/** The version of Curbcut that wrote an input or a message. */
const Version = Type.String({ maxLength: 64 });

/** The input of a scanner pod. */
export const PodInput = Type.Object({
  version: Version,
  scanId: Type.String(),
  /** The HTTP request that submitted the scan, for the log. */
  requestId: Type.Optional(Type.String({ maxLength: 128 })),
  /** The collector and the parent of the pod's spans. Absent if tracing is off. */
  tracing: Type.Optional(Type.Object({ endpoint: Type.String(), traceparent: Type.String() })),
  /** When the scan was submitted, RFC 3339. */
  submittedAt: Type.String(),
  options: ScanOptions,
  /** Pages that credits were reserved for: fewer than `options.maxPages` if there were not enough. */
  pagesReserved: Type.Integer({ minimum: 1 }),
  /** For the export. Absent: none. */
  metadata: Type.Optional(Metadata),
  /** The name of the organisation that the scan belongs to, for the PDF. Absent: none. */
  organisation: Type.Optional(Type.String()),
  /** How the pod signs in, with names of keys of the mounted Secret. Absent: with its well-known keys, if there is a Secret. */
  signIn: Type.Optional(SignInPlan),
  /** The scan to compare with. Absent: the scan has no baseline. */
  baseline: Type.Optional(
    Type.Object({
      ...BaselineOutcome.properties,
      /** A presigned GET URL of its export. Absent if there is a problem. */
      export: Type.Optional(Type.String()),
    }),
  ),
  /** The known issues of the site. Absent: none. */
  knownIssues: Type.Optional(ChosenKnownIssues),
  /** One slot per expected attempt, ordered by attempt. */
  uploads: Type.Array(UploadSlot, { maxItems: 1000 }),
  /** The pods of the scan, if it has several. Pod 0 makes the report, and the others visit pages for it. Absent: this pod is the only one. */
  team: Type.Optional(Team),
  /** A presigned GET URL of an object that exists once the scan was canceled. Absent: the pod ends without a report. */
  cancelMark: Type.Optional(Type.String()),
  /** Access to the message bus. Absent if the bus cannot restrict a user to one scan; the pod then sends no progress. */
  messages: Type.Optional(Type.Object({ url: Type.String(), subject: Type.String(), jwt: Type.String(), seed: Type.String() })),
  /** The time by which the pod must have tested its pages, RFC 3339. */
  deadline: Type.String(),
  /** The time by which the pod must have stored its results, RFC 3339. Later than `deadline`, for outages of the object store. */
  uploadDeadline: Type.String(),
  /** CIDRs, host names or `address:port` that are exempt from the address rule. */
  allowTargets: Type.Array(Type.String()),
  /** CIDRs that are refused although their addresses are public, such as the cluster's own. */
  denyTargets: Type.Array(Type.String()),
  /** The number of tabs that test pages at the same time. */
  workers: Type.Integer({ minimum: 1, maximum: 8 }),
  /** The time limit per page, for navigation and tests together, in milliseconds. Absent: the default, and more for large pages. */
  pageBudgetMs: Type.Optional(Type.Integer({ minimum: 1000 })),
  /** The service's address, which the user agent names, so that the owner of a site can ask who scans it. */
  contactUrl: Type.Optional(Type.String({ maxLength: 500 })),
  /** Certificates of authorities (PEM) for the message bus, the object store and the collector, beside public ones. Never for sites. */
  privateCa: Type.Optional(Type.String()),
  /** Certificates of authorities (PEM) for scanned sites, beside public ones. Never for anything else. */
  siteCa: Type.Optional(Type.String()),
  /** The HTTP proxy to sites, the object store and the collector. The URL may hold a password. Absent: none. */
  proxy: Type.Optional(Type.Object({ url: Type.String(), noProxy: Type.String() })),
  /** The largest export that the operator accepts, in bytes. */
  exportMaxBytes: Type.Integer({ minimum: 1, maximum: EXPORT_MAX_BYTES }),
});
export type PodInput = Static<typeof PodInput>;

const Count = Type.Integer({ minimum: 0, maximum: 1_000_000_000 });
const Stored = Type.Object({ bytes: Type.Integer({ minimum: 1 }), sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) });
const Pages = Type.Object({ scanned: Count, failed: Count, total: Count });

/** The pod's progress. `sequence` increases by one per message within an attempt. */
export const PodProgress = Type.Object({
  kind: Type.Literal('progress'),
  scanId: Type.String({ maxLength: 64 }),
  ...identity,
  sequence: Count,
  phase: oneOf(POD_PHASES),
  pages: Pages,
});
export type PodProgress = Static<typeof PodProgress>;

/**
 * The pod stored its results. This is the last message of a successful scan, its termination message, and the content of the
 * last object that it uploads.
 */
export const PodStored = Type.Object({
  kind: Type.Literal('stored'),
  scanId: Type.String({ maxLength: 64 }),
  ...identity,
  pages: Pages,
  export: Stored,
  pdf: Stored,
  /** Absent if the report has no pictures. */
  pictures: Type.Optional(Stored),
  version: Version,
});
export type PodStored = Static<typeof PodStored>;

/**
 * The permanent failures of a scan, which a retry cannot fix:
 * - `target_unreachable`: the first page did not load
 * - `target_refused`: the address rule forbids the first page
 * - `target_not_html`: the first page is not a web page
 * - `sign_in_required`, `bot_wall`, `nothing_shown`: the first page asks for a sign-in, is bot protection, or shows nothing
 * - `redirected_away`: the first page leads to another site
 * - `no_page_tested`: no page of the site could be tested for another reason
 * - `deadline_exceeded`: the scan reached its deadline
 * - `sign_in_failed`: the site did not accept the credentials
 * - `prepare_failed`: a step that prepares the scan failed
 * - `robots_disallowed`: robots.txt forbids the first page
 * - `report_too_large`: the export or the PDF exceeds its limit, although it describes as little as possible
 */
export const POD_FAILURES = [
  'target_unreachable',
  'target_refused',
  'target_not_html',
  'sign_in_required',
  'bot_wall',
  'nothing_shown',
  'redirected_away',
  'no_page_tested',
  'deadline_exceeded',
  'sign_in_failed',
  'prepare_failed',
  'robots_disallowed',
  'report_too_large',
] as const;
export type PodFailureReason = (typeof POD_FAILURES)[number];

/** The scan failed permanently. This is the last message, and the termination message with exit code `EXIT_PERMANENT`. */
export const PodFailed = Type.Object({
  kind: Type.Literal('failed'),
  scanId: Type.String({ maxLength: 64 }),
  ...identity,
  /** One of `POD_FAILURES`, or what the pod's own version calls it. */
  reason: Type.String({ maxLength: 64 }),
  message: Type.String({ maxLength: 1000 }),
  pages: Pages,
});
export type PodFailed = Static<typeof PodFailed>;

export const PodMessage = Type.Union([PodProgress, PodStored, PodFailed]);
export type PodMessage = Static<typeof PodMessage>;

/** The exit code of a permanent failure, which the Job does not retry. It retries every other code except 0. */
export const EXIT_PERMANENT = 42;
