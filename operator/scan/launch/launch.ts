/** Launches a scan: creates the Job, issues the pod's grants and creates the Secret with them. Idempotent. */
import { randomBytes } from 'node:crypto';
import { type AccessibilityScan, requestOf } from '../../../core/protocol/custom-resources.ts';
import { PICTURES_TYPE, POD_INPUT_PATH, type PodInput, type Team } from '../../../core/protocol/pod-messages.ts';
import { hasReport, type NamedBaseline } from '../../../report/diff/baseline.ts';
import { reportKeys } from '../../../report/schema/objects.ts';
import { cancelMarkKey, incomingKeys, type Reports } from '../../../stores/reports.ts';
import type { Job } from '../kube-types.ts';
import * as reasons from '../policy/condition-reasons.ts';
import { uploadSlots } from '../policy/pods.ts';
import { reservedPages, secondsToRun, UPLOAD_GRACE_SECONDS } from '../policy/facts.ts';
import { traceLaunch } from '../traces.ts';
import { errorMessage } from '../../../platform/errors.ts';
import { siteOf } from '../../../core/scan/site.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { planOf } from '../../../core/scan/sign-in.ts';
import { currentOf } from '../../../platform/setting-files.ts';
import { CURBCUT_VERSION } from '../../../platform/version.ts';
import type { OperatorContext } from '../../context.ts';
import { ChildRefused, type InputSecret } from './children.ts';
import { buildJob, childLabels, type Launch, type PodSettings } from './job.ts';
/** `pods`: how many the scan has. Undefined: the Job was there before. */
export type Launched = { ok: true; job: Job; pods?: number } | { ok: false; end: reasons.EndReason };

const newSecretName = (scanId: string): string => `scan-${scanId}-${randomBytes(16).toString('hex')}`;

/** @throws if a retry may succeed */
export async function launch(
  context: OperatorContext,
  scan: AccessibilityScan,
  scanId: string,
  now: Date,
  signal: AbortSignal,
): Promise<Launched> {
  const row = await context.stores.scans.find(scanId);
  if (row === null) return { ok: false, end: reasons.SUBMISSION_ABANDONED };
  const seconds = secondsToRun(reservedPages(scan), context.settings.runTime);
  const what: Launch = { scan, scanId, organisation: row.organisation, seconds, secretName: newSecretName(scanId), metadata: row.metadata };
  try {
    return { ok: true, ...(await createChildren(context, what, now, signal)) };
  } catch (error) {
    if (!(error instanceof ChildRefused)) throw error;
    return { ok: false, end: error.kind === 'taken' ? reasons.nameTaken(error.message) : reasons.launchRefused(error.message) };
  }
}

/**
 * Creates the Job first, so that it owns the Secret. It is suspended until the operator's own Secret was accepted, so that no pod
 * mounts a Secret of this name which someone else created in between.
 */
async function createChildren(
  context: OperatorContext,
  launch: Launch,
  now: Date,
  signal: AbortSignal,
): Promise<{ job: Job; pods?: number }> {
  const { children, settings } = context;
  const job = await children.createJob(launch.scan, buildJob(launch, settings.scanner), signal);
  if (job.spec?.suspend !== true) return { job };
  try {
    const grants = await grantsOf(context, launch, job, now);
    const granted = launch.scan.status?.pods ?? 1;
    const team = granted > 1 ? (context.bus.issueTeam(launch.scanId, granted, grants.uploadDeadline) ?? []) : [];
    const input = podInput(launch, settings.pod, grants);
    await children.createSecret(buildSecret(launch, job, { ...input, ...(team.length > 1 && { team: team[0] }) }), signal);
    const resumed = await children.resumeJob(job, signal);
    // Afterwards, so that they do not take the room that the first pod needs.
    const helpers = await createHelpers(context, launch, { job, input, team: team.slice(1) }, signal);
    return { job: resumed, pods: 1 + helpers };
  } catch (error) {
    // Otherwise, as after a crash, the next attempt deletes it.
    await children.removeJob(job, signal).catch(() => undefined);
    throw error;
  }
}

/**
 * Creates the pods that visit pages for the first one, as far as that succeeds. The first one visits the pages of the others.
 * @returns how many there are
 */
async function createHelpers(
  { children, settings, recorder }: OperatorContext,
  launch: Launch,
  { job, input, team }: { job: Job; input: PodInput; team: readonly Team[] },
  signal: AbortSignal,
): Promise<number> {
  let created = 0;
  const { baseline: _baseline, knownIssues: _issues, cancelMark: _mark, messages: _messages, ...shared } = input;
  try {
    for (const place of team) {
      const own = { ...launch, secretName: newSecretName(launch.scanId) };
      await children.createSecret(buildSecret(own, job, { ...shared, uploads: [], team: place }), signal);
      await children.createHelper(buildJob(own, settings.scanner, { index: place.index, owner: ownerOf(job) }), signal);
      created += 1;
    }
  } catch (error) {
    recorder.event(launch.scan, 'Warning', 'HelperRefused', `The scan has fewer pods than it may have: ${errorMessage(error)}`);
  }
  return created;
}

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

/** What the pod may do for this one scan, until its deadline. */
type Grants = Pick<PodInput, 'uploads' | 'cancelMark' | 'baseline' | 'knownIssues'> & {
  /** The name of the organisation. */
  organisation?: string | undefined;
  messages: PodInput['messages'] | null;
  /** The parent of the pod's spans, if the scan is traced. */
  traceparent?: string;
  /** The time by which the pod must have tested its pages. */
  deadline: Date;
  /** The time by which the pod must have stored its results. */
  uploadDeadline: Date;
};

/** Issues the grants. The deadline counts from the creation of the Job. */
async function grantsOf(context: OperatorContext, { scan, scanId, organisation, seconds }: Launch, job: Job, now: Date): Promise<Grants> {
  const { reports, stores, bus, settings, tracer } = context;
  const end = Date.parse(job.metadata.creationTimestamp!) + (seconds + UPLOAD_GRACE_SECONDS) * 1000;
  const left = Math.max(1, Math.ceil((end - now.getTime()) / 1000));
  const linkSeconds = await reports.linkSeconds(Math.min(left + UPLOAD_MARGIN_SECONDS, LINK_MAX_SECONDS));
  // The next attempt may get a session that has just begun.
  if (linkSeconds < 2 * UPLOAD_MARGIN_SECONDS)
    throw new Error(`the session at the object store ends in ${linkSeconds} s, too soon for a scan`);
  const { deadline, uploadDeadline } = deadlines(end, linkSeconds, now);
  const { baseline } = scan.status ?? {};
  const withLink = async (named: NamedBaseline): Promise<PodInput['baseline']> =>
    hasReport(named) ? { ...named, export: await reports.readLink(reportKeys(named.scanId).export, linkSeconds) } : named;
  return {
    deadline,
    uploadDeadline,
    uploads: await uploadLinks(reports, scanId, settings.scanner.retries, linkSeconds),
    cancelMark: await reports.readLink(cancelMarkKey(scanId), linkSeconds),
    ...(baseline && { baseline: await withLink(baseline) }),
    // Public scans have none.
    organisation: (await stores.organisations.find(organisation))?.displayName,
    knownIssues: await stores.knownIssues.choose(scanId, organisation, sitesOf(scan.spec), now),
    messages: bus.issueScanCredential(scanId, uploadDeadline),
    traceparent: traceLaunch(tracer, scan, scanId),
  };
}

function uploadLinks(reports: Reports, scanId: string, retries: number, seconds: number): Promise<PodInput['uploads']> {
  const links = uploadSlots(retries).map(async (slot) => {
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

/** Builds the pod's input. Its grants cover this one scan, until its deadline. Pure. */
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
    ...(grants.organisation !== undefined && { organisation: grants.organisation }),
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
    ...(settings.pageBudgetMs !== undefined && { pageBudgetMs: settings.pageBudgetMs }),
    exportMaxBytes: settings.exportMaxBytes,
    ...(settings.contactUrl !== undefined && { contactUrl: settings.contactUrl }),
    ...(settings.privateCa !== undefined && { privateCa: currentOf(settings.privateCa) }),
    ...(settings.siteCa !== undefined && { siteCa: currentOf(settings.siteCa) }),
    ...(settings.proxy !== undefined && { proxy: { url: currentOf(settings.proxy.url), noProxy: settings.proxy.noProxy } }),
  };
}

const ownerOf = ({ apiVersion, kind, metadata: { name, uid } }: Job) => ({ apiVersion, kind, name, uid: uid!, controller: true });

const KEY = POD_INPUT_PATH.slice(POD_INPUT_PATH.lastIndexOf('/') + 1);

/**
 * Builds the Secret. The Job owns it, so that garbage collection deletes it with the Job: the operator may not delete Secrets. It
 * is immutable, so that the input never changes and the kubelet does not watch it.
 */
export function buildSecret(launch: Launch, job: Job, input: PodInput): InputSecret {
  const { namespace } = job.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: launch.secretName,
      namespace,
      labels: childLabels(launch.scanId, launch.organisation),
      ownerReferences: [ownerOf(job)],
    },
    type: 'Opaque',
    immutable: true,
    data: { [KEY]: Buffer.from(JSON.stringify(input)).toString('base64') },
  };
}
