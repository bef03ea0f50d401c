/** Launches a scan: creates the Job, issues the pod's grants and creates the Secret with them. Idempotent. */
import { randomBytes } from 'node:crypto';
import { type AccessibilityScan, requestOf } from '../../../core/protocol/custom-resources.ts';
import { PICTURES_TYPE, POD_INPUT_PATH, type PodInput } from '../../../core/protocol/pod-messages.ts';
import type { MessageBus } from '../../../stores/nats.ts';
import { hasReport } from '../../../report/diff/baseline.ts';
import { reportKeys } from '../../../report/schema/objects.ts';
import { cancelMarkKey, incomingKeys, type Reports } from '../../../stores/reports.ts';
import type { Scans } from '../../../stores/scans/scans.ts';
import type { Job } from '../kube-types.ts';
import * as reasons from '../policy/condition-reasons.ts';
import type { EndReason } from '../policy/condition-reasons.ts';
import { uploadSlots } from '../policy/pods.ts';
import { reservedPages, type RunTime, secondsToRun, UPLOAD_GRACE_SECONDS } from '../policy/facts.ts';
import type { ScanTraces } from '../traces.ts';
import type { KnownIssues } from '../../../stores/known-issues/known-issues.ts';
import { siteOf } from '../../../core/scan/site.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { planOf } from '../../../core/scan/sign-in.ts';
import type { OutboundProxy } from '../../../platform/outbound-proxy.ts';
import { type Credential, currentOf } from '../../../platform/setting-files.ts';
import { CURBCUT_VERSION } from '../../../platform/version.ts';
import { ChildRefused, type Children, type InputSecret } from './children.ts';
import { buildJob, childLabels, type Launch, type ScannerSettings } from './job.ts';
export interface LauncherDeps {
  children: Pick<Children, 'createSecret' | 'createJob' | 'resumeJob' | 'removeJob'>;
  scans: Pick<Scans, 'find'>;
  knownIssues: Pick<KnownIssues, 'choose'>;
  reports: Pick<Reports, 'linkSeconds' | 'uploadLink' | 'readLink'>;
  bus: Pick<MessageBus, 'issueScanCredential'>;
  scanner: ScannerSettings;
  pod: PodSettings;
  runTime: RunTime;
  traces: ScanTraces;
}

export type Launched = { ok: true; job: Job } | { ok: false; end: EndReason };

/** @throws if a retry may succeed */
export type Launcher = (scan: AccessibilityScan, scanId: string, now: Date, signal: AbortSignal) => Promise<Launched>;

/** The sites whose known issues count in a scan: its own, and the one that its baseline names, because a preview has their violations too. */
const sitesOf = ({ url, baseline }: AccessibilityScan['spec']): string[] => [
  ...new Set([siteOf(url), ...(baseline?.site === undefined ? [] : [baseline.site.toLowerCase()])]),
];

/** Seconds for which upload links stay valid after the pod's last deadline, because an upload may be in progress. */
const UPLOAD_MARGIN_SECONDS = 60;
/** The longest validity of a presigned link that S3 accepts. */
const LINK_MAX_SECONDS = 7 * 86_400;

/**
 * The deadlines of a pod, by the end of its Job and the validity of its links. If the links end earlier, the pod stops earlier, but
 * has at least half of the time for its pages.
 */
function deadlines(end: number, linkSeconds: number, now: Date): { deadline: Date; uploadDeadline: Date } {
  const grace = UPLOAD_GRACE_SECONDS * 1000;
  const upload = Math.min(end, now.getTime() + (linkSeconds - UPLOAD_MARGIN_SECONDS) * 1000);
  const half = (now.getTime() + upload) / 2;
  return { deadline: new Date(Math.min(end - grace, Math.max(upload - grace, half))), uploadDeadline: new Date(upload) };
}

export function createLauncher(deps: LauncherDeps): Launcher {
  const { children, scans, knownIssues, reports, bus, scanner, runTime, traces } = deps;

  async function uploadLinks(scanId: string, seconds: number): Promise<PodInput['uploads']> {
    const links = uploadSlots(scanner.retries).map(async (slot) => {
      const keys = incomingKeys(scanId, slot);
      return {
        ...slot,
        export: await reports.uploadLink(keys.export, 'application/json', seconds),
        pdf: await reports.uploadLink(keys.pdf, 'application/pdf', seconds),
        pictures: await reports.uploadLink(keys.pictures, PICTURES_TYPE, seconds),
        result: await reports.uploadLink(keys.result, 'application/json', seconds),
      };
    });
    return Promise.all(links);
  }

  /** Creates the Secret of a Job. The deadline counts from the creation of the Job. */
  async function createSecret(launch: Launch, job: Job, now: Date, signal: AbortSignal): Promise<void> {
    const end = Date.parse(job.metadata.creationTimestamp!) + (launch.seconds + UPLOAD_GRACE_SECONDS) * 1000;
    const left = Math.max(1, Math.ceil((end - now.getTime()) / 1000));
    const seconds = await reports.linkSeconds(Math.min(left + UPLOAD_MARGIN_SECONDS, LINK_MAX_SECONDS));
    // The next attempt may get a session that has just begun.
    if (seconds < 2 * UPLOAD_MARGIN_SECONDS) throw new Error(`the session at the object store ends in ${seconds} s, too soon for a scan`);
    const { deadline, uploadDeadline } = deadlines(end, seconds, now);
    const { baseline } = launch.scan.status ?? {};
    const grants = {
      deadline,
      uploadDeadline,
      uploads: await uploadLinks(launch.scanId, seconds),
      cancelMark: await reports.readLink(cancelMarkKey(launch.scanId), seconds),
      ...(baseline && {
        baseline: hasReport(baseline)
          ? { ...baseline, export: await reports.readLink(reportKeys(baseline.scanId).export, seconds) }
          : baseline,
      }),
      knownIssues: await knownIssues.choose(launch.scanId, launch.organisation, sitesOf(launch.scan.spec), now),
      messages: bus.issueScanCredential(launch.scanId, uploadDeadline),
      traceparent: traces.launched(launch.scan, launch.scanId),
    };
    await children.createSecret(buildSecret(launch, job, podInput(launch, deps.pod, grants)), signal);
  }

  /**
   * Creates the Job first, so that it owns the Secret. It is suspended, so that no pod mounts a Secret of this name which someone
   * else created in between: the operator resumes the Job only after its own Secret was accepted.
   */
  async function createChildren(launch: Launch, now: Date, signal: AbortSignal): Promise<Job> {
    const job = await children.createJob(launch.scan, buildJob(launch, scanner), signal);
    if (job.spec?.suspend !== true) return job;
    try {
      await createSecret(launch, job, now, signal);
      return await children.resumeJob(job, signal);
    } catch (error) {
      // Otherwise, as after a crash, the next attempt deletes it.
      await children.removeJob(job, signal).catch(() => undefined);
      throw error;
    }
  }

  return async (scan, scanId, now, signal) => {
    const row = await scans.find(scanId);
    if (row === null) return { ok: false, end: reasons.SUBMISSION_ABANDONED };
    const seconds = secondsToRun(reservedPages(scan), runTime);
    const secretName = `scan-${scanId}-${randomBytes(16).toString('hex')}`;
    const launch: Launch = { scan, scanId, organisation: row.organisation, seconds, secretName, metadata: row.metadata };
    try {
      return { ok: true, job: await createChildren(launch, now, signal) };
    } catch (error) {
      // Other Jobs may end and free the quota.
      if (!(error instanceof ChildRefused) || /exceeded quota/i.test(error.message)) throw error;
      return { ok: false, end: error.kind === 'taken' ? reasons.nameTaken(error.message) : reasons.launchRefused(error.message) };
    }
  };
}

/** Builds the Secret with the pod's input. Its grants cover this one scan, until its deadline. Pure. */

/** The installation's settings in the pod input. */
export interface PodSettings {
  allowTargets: readonly string[];
  denyTargets: readonly string[];
  workers: number;
  pageBudgetMs: number;
  /** The largest export that is accepted, in bytes. */
  exportMaxBytes: number;
  /** The service's address, for the scanner's user agent. */
  contactUrl?: string;
  /** The collector for the pods' spans. Default: no tracing. */
  otlpEndpoint?: string;
  /** Authorities that pods trust for the message bus, the object store and the collector. Default: only public ones. */
  privateCa?: Credential;
  /** Authorities that pods trust for scanned sites. Default: only public ones. */
  siteCa?: Credential;
  /** The proxy of pods. Default: none. */
  proxy?: OutboundProxy;
}

/** The grants of one scan. */
interface Grants {
  uploads: PodInput['uploads'];
  cancelMark: string;
  /** With a link to its report. */
  baseline?: PodInput['baseline'];
  knownIssues?: PodInput['knownIssues'];
  messages: PodInput['messages'] | null;
  /** The parent of the pod's spans, if the scan is traced. */
  traceparent?: string;
  /** The time by which the pod must have tested its pages. */
  deadline: Date;
  /** The time by which the pod must have stored its results. */
  uploadDeadline: Date;
}

export function podInput({ scan, scanId, metadata }: Launch, settings: PodSettings, grants: Grants): PodInput {
  const requestId = requestOf(scan);
  const { otlpEndpoint: endpoint } = settings;
  const { traceparent } = grants;
  return {
    version: CURBCUT_VERSION,
    scanId,
    ...(requestId !== undefined && { requestId }),
    ...(endpoint !== undefined && traceparent !== undefined && { tracing: { endpoint, traceparent } }),
    submittedAt: scan.metadata.creationTimestamp!,
    options: withDefaults(scan.spec),
    pagesReserved: reservedPages(scan),
    ...(metadata !== undefined && { metadata }),
    ...(scan.spec.auth !== undefined && { signIn: planOf(scan.spec.auth) }),
    uploads: grants.uploads,
    cancelMark: grants.cancelMark,
    ...(grants.baseline && { baseline: grants.baseline }),
    ...(grants.knownIssues && { knownIssues: grants.knownIssues }),
    ...(grants.messages && { messages: grants.messages }),
    deadline: grants.deadline.toISOString(),
    uploadDeadline: grants.uploadDeadline.toISOString(),
    allowTargets: [...settings.allowTargets],
    denyTargets: [...settings.denyTargets],
    workers: settings.workers,
    pageBudgetMs: settings.pageBudgetMs,
    exportMaxBytes: settings.exportMaxBytes,
    ...(settings.contactUrl !== undefined && { contactUrl: settings.contactUrl }),
    ...(settings.privateCa !== undefined && { privateCa: currentOf(settings.privateCa) }),
    ...(settings.siteCa !== undefined && { siteCa: currentOf(settings.siteCa) }),
    ...(settings.proxy !== undefined && { proxy: { url: currentOf(settings.proxy.url), noProxy: settings.proxy.noProxy } }),
  };
}

const KEY = POD_INPUT_PATH.slice(POD_INPUT_PATH.lastIndexOf('/') + 1);

/**
 * Builds the Secret. The Job owns it, so that garbage collection deletes it with the Job: the operator may not delete Secrets. It
 * is immutable, so that the input never changes and the kubelet does not watch it.
 */
export function buildSecret(launch: Launch, job: Job, input: PodInput): InputSecret {
  const { name, uid, namespace } = job.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: launch.secretName,
      namespace,
      labels: childLabels(launch.scanId, launch.organisation),
      ownerReferences: [{ apiVersion: job.apiVersion, kind: job.kind, name, uid: uid!, controller: true }],
    },
    type: 'Opaque',
    immutable: true,
    data: { [KEY]: Buffer.from(JSON.stringify(input)).toString('base64') },
  };
}
