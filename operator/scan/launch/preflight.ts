/** Checks a new scan: the organisation to charge, permission to run, and credits. Every step is idempotent. */
import {
  ORGANISATION_LABEL,
  SCAN_ID_ANNOTATION,
  SETTLE_FINALIZER,
  type AccessibilityScan,
} from '../../../core/protocol/custom-resources.ts';
import { judgeScanUrl, type Resolver, type TargetRules } from '../../../core/scan/targets.ts';
import type { Credits } from '../../../stores/credits/credits.ts';
import type { Organisations } from '../../../stores/accounts/organisations.ts';
import type { ScanRow, Scans } from '../../../stores/scans/scans.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import * as reasons from '../policy/condition-reasons.ts';
import type { EndReason } from '../policy/condition-reasons.ts';

/** A reservation of credits must complete within this time. */
const RESERVE_WITHIN_MS = 30_000;
/** The age up to which a scan waits for name servers that do not answer. */
const RESOLVE_WITHIN_MS = 120_000;

export interface PreflightDeps {
  scans: Pick<Scans, 'create' | 'find' | 'accept' | 'mirror'>;
  credits: Pick<Credits, 'reserve'>;
  organisations: Pick<Organisations, 'find' | 'findByNamespace'>;
  resolver: Resolver;
  apiNamespace: string;
  maxPagesLimit: number;
  targets: TargetRules;
  now: () => Date;
}

/** The row with the reserved pages, or the reason why the scan ends. */
export type Vetted = { ok: true; row: ScanRow } | { ok: false; end: EndReason };

export interface Preflight {
  /** Returns the finalizers, and the label of the organisation that is charged, if there is one. */
  claim(scan: AccessibilityScan, scanId: string): Promise<{ finalizers: string[]; labels?: Record<string, string> }>;
  /** Checks a scan and reserves its credits. */
  vet(scan: AccessibilityScan, scanId: string): Promise<Vetted>;
}

export function createPreflight(deps: PreflightDeps): Preflight {
  const { scans, organisations } = deps;

  const cameByApi = ({ metadata }: AccessibilityScan): boolean =>
    metadata.namespace === deps.apiNamespace && metadata.annotations?.[SCAN_ID_ANNOTATION] !== undefined;

  /** Vets a scan that the API submitted and whose row already exists. */
  async function vetSubmission(scan: AccessibilityScan, scanId: string): Promise<Vetted> {
    const row = await scans.find(scanId);
    if (row === null) return { ok: false, end: reasons.SUBMISSION_ABANDONED };
    // A client that may create scans in this namespace can claim a foreign scan ID.
    if (row.resource.name !== scan.metadata.name || row.resource.namespace !== scan.metadata.namespace)
      return { ok: false, end: reasons.SCAN_ID_TAKEN };
    if (row.submission === 'pending') await scans.accept(scanId);
    return reserve(row, deps);
  }

  async function vetManifest(scan: AccessibilityScan, scanId: string): Promise<Vetted> {
    const namespace = scan.metadata.namespace!;
    const known = await scans.find(scanId);
    const organisation = known ? await organisations.find(known.organisation) : await organisations.findByNamespace(namespace);
    if (organisation === null) return { ok: false, end: reasons.noOrganisation(namespace) };
    const row = known ?? (await scans.create(newRow(scan, scanId, organisation.id)));
    if (organisation.blocked) return { ok: false, end: reasons.organisationBlocked(organisation.id) };
    if (row.options.maxPages > deps.maxPagesLimit)
      return { ok: false, end: reasons.tooManyPages(row.options.maxPages, deps.maxPagesLimit) };
    const judged = await judgeUrlOf(row, deps);
    return judged.ok ? reserve(row, deps) : { ok: false, end: reasons.targetRefused(judged.message) };
  }

  return {
    async claim(scan, scanId) {
      const finalizers = [...(scan.metadata.finalizers ?? []), SETTLE_FINALIZER];
      const row = cameByApi(scan) ? await scans.find(scanId) : null;
      const organisation = row?.organisation ?? (await organisations.findByNamespace(scan.metadata.namespace!))?.id;
      return organisation === undefined ? { finalizers } : { finalizers, labels: { [ORGANISATION_LABEL]: organisation } };
    },
    vet: (scan, scanId) => (cameByApi(scan) ? vetSubmission(scan, scanId) : vetManifest(scan, scanId)),
  };
}

/** @throws Error if name servers do not answer and the scan is young enough to retry */
async function judgeUrlOf(row: ScanRow, deps: PreflightDeps): ReturnType<typeof judgeScanUrl> {
  const judged = await judgeScanUrl(row.options.url, deps.targets, deps.resolver);
  const ageMs = deps.now().getTime() - row.createdAt.getTime();
  if (!judged.ok && judged.reason === 'dns_unavailable' && ageMs < RESOLVE_WITHIN_MS)
    throw new Error(`name servers did not answer for ${row.options.url}`);
  return judged;
}

/**
 * Reserves the credits of a manifest, all or nothing. For a submission they are reserved already; this checks that they
 * still are, because an API that abandoned the submission has refunded them.
 */
async function reserve(row: ScanRow, { credits, scans, now }: PreflightDeps): Promise<Vetted> {
  const pages = row.pagesReserved > 0 ? row.pagesReserved : row.options.maxPages;
  const deadline = new Date(now().getTime() + RESERVE_WITHIN_MS);
  const held = await credits.reserve({ organisation: row.organisation, scanId: row.id, pages, partial: false, deadline });
  if (!held.ok && held.reason === 'deadline_passed') {
    if (row.origin === 'api') return { ok: false, end: reasons.SUBMISSION_ABANDONED };
    throw new Error(`the deadline of the reservation for scan ${row.id} passed`);
  }
  if (!held.ok) return { ok: false, end: reasons.insufficientCredits(pages, held.balance) };
  const mirrored = await scans.mirror(row.id, { pagesReserved: held.reserved });
  return mirrored === null ? { ok: false, end: reasons.SUBMISSION_ABANDONED } : { ok: true, row: mirrored.row };
}

function newRow(scan: AccessibilityScan, scanId: string, organisation: string): Parameters<Scans['create']>[0] {
  const options = withDefaults(scan.spec);
  return {
    id: scanId,
    organisation,
    origin: 'manifest',
    resource: { namespace: scan.metadata.namespace!, name: scan.metadata.name },
    submission: 'accepted',
    options,
    pagesRequested: options.maxPages,
    pagesReserved: 0,
    phase: 'queued',
    pages: { scanned: 0, failed: 0, total: 0 },
    outcome: null,
    passed: null,
    message: null,
    reports: null,
    createdAt: new Date(scan.metadata.creationTimestamp!),
    finishedAt: null,
  };
}
