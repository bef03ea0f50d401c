/**
 * Checks a new scan: the organisation to charge, permission to run, and credits. The API reserves the credits of a submission
 * before it writes the scan. A manifest holds none until its queue has admitted it, so that any number of them can wait in the
 * order of their queue. Every step is idempotent.
 */
import {
  type AccessibilityScan,
  cameByApi,
  metadataOf,
  ORGANISATION_LABEL,
  queueOf,
  SETTLE_FINALIZER,
} from '../../../core/protocol/custom-resources.ts';
import { type Metadata, metadataMistake } from '../../../core/scan/metadata.ts';
import { isOfDashboard, SCHEDULE_LABEL } from '../../../core/protocol/scan-schedules.ts';
import { creditAccountOf } from '../../../core/scan/counts.ts';
import { addressListMistake } from '../../../core/scan/address-list.ts';
import { judgeScan } from '../../../core/scan/targets.ts';
import { type ReservationRequest, RESERVE_WITHIN_MS } from '../../../stores/credits/credits.ts';
import type { Organisation } from '../../../core/organisation.ts';
import { isCheck, newRow, type NewScan } from '../../../stores/scans/scan-row.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import type { OperatorContext } from '../../context.ts';
import * as reasons from '../policy/condition-reasons.ts';
import { judgePodTemplate } from './pod-template.ts';
import { siteOf } from '../../../core/scan/site.ts';
import type { BaselineChoice } from '../../../core/scan/baseline.ts';
import type { NamedBaseline } from '../../../report/diff/baseline.ts';
/** The row with the reserved pages, or the reason why the scan ends. */
export type Reserved = { ok: true; row: ScanRow } | { ok: false; end: reasons.EndReason };

/** The row, or the reason why the scan ends. `unresolved`: no name server answered, which ends the scan only if it lasts. */
export type Vetted = Reserved | { ok: false; unresolved: reasons.EndReason };

/** MongoDB received a reservation after its deadline. A repeated one may come in time. */
export class ReservationLate extends Error {
  override name = 'ReservationLate';
}

const isSubmission = ({ settings }: OperatorContext, scan: AccessibilityScan): boolean => cameByApi(scan, settings.namespace);

/** Returns the finalizers, and the label of the organisation that is charged, if there is one. */
export async function claim(
  context: OperatorContext,
  scan: AccessibilityScan,
  scanId: string,
): Promise<{ finalizers: string[]; labels?: Record<string, string> }> {
  const finalizers = [...(scan.metadata.finalizers ?? []), SETTLE_FINALIZER];
  const row = isSubmission(context, scan) ? await context.stores.scans.find(scanId) : null;
  const organisation = row?.organisation ?? (await organisationOf(context, scan))?.id;
  return organisation === undefined ? { finalizers } : { finalizers, labels: { [ORGANISATION_LABEL]: organisation } };
}

/** Checks whether a scan may wait in its queue. */
export async function vet(context: OperatorContext, scan: AccessibilityScan, scanId: string): Promise<Vetted> {
  const vetted = await (isSubmission(context, scan) ? vetSubmission : vetManifest)(context, scan, scanId);
  if (!vetted.ok) return vetted;
  // The API sets no podTemplate, but others may create scans in its namespace.
  const judged = judgePodTemplate(scan.spec.podTemplate, context.settings.podTemplate);
  return judged.ok ? vetted : { ok: false, end: reasons.podTemplateRefused(judged.message) };
}

async function vetSubmission(context: OperatorContext, scan: AccessibilityScan, scanId: string): Promise<Vetted> {
  const row = await context.stores.scans.find(scanId);
  if (row === null) return { ok: false, end: reasons.SUBMISSION_ABANDONED };
  // A client that may create scans in this namespace can claim a foreign scan ID.
  if (row.resource.name !== scan.metadata.name || row.resource.namespace !== scan.metadata.namespace)
    return { ok: false, end: reasons.SCAN_ID_TAKEN };
  if (row.submission === 'abandoned') return { ok: false, end: reasons.SUBMISSION_ABANDONED };
  // The credits of an accepted scan stay held until it ends.
  return row.submission === 'accepted' ? { ok: true, row } : acceptSubmission(context, row);
}

async function vetManifest(context: OperatorContext, scan: AccessibilityScan, scanId: string): Promise<Vetted> {
  const { stores, settings, resolver } = context;
  const known = await stores.scans.find(scanId);
  const organisation = known ? await stores.organisations.find(known.organisation) : await organisationOf(context, scan);
  if (organisation === null) {
    const isOfDashboards = isOfDashboard(scan.metadata, settings.namespace);
    return { ok: false, end: isOfDashboards ? reasons.NOT_RECORDED : reasons.noOrganisation(scan.metadata.namespace!) };
  }
  const metadata = metadataOf(scan);
  const mistake = metadataMistake(metadata);
  const row =
    known ?? (await stores.scans.create(newRow(newScan(scan, scanId, organisation.id, mistake === null ? metadata : {}), scan.spec.auth)));
  if (organisation.blocked) return { ok: false, end: reasons.organisationBlocked(organisation) };
  if (mistake !== null) return { ok: false, end: reasons.metadataRefused(mistake) };
  const { url, maxPages } = row.options;
  if (maxPages > settings.maxPagesLimit) return { ok: false, end: reasons.tooManyPages(maxPages, settings.maxPagesLimit) };
  const { crawl } = withDefaults(row.options);
  const judged = await judgeScan({ url, hosts: crawl.hosts }, settings.targets, resolver);
  const listed = judged.ok ? addressListMistake({ url, maxPages, crawl }) : null;
  if (listed !== null) return { ok: false, end: reasons.addressListRefused(listed.message) };
  if (judged.ok) return canPay(context, row);
  const refused = reasons.targetRefused(judged.message);
  return judged.reason === 'dns_unavailable' ? { ok: false, unresolved: refused } : { ok: false, end: refused };
}

/** The organisation that is charged: that of the record of the schedule if the dashboard made it, otherwise that of the namespace. */
async function organisationOf({ stores, settings }: OperatorContext, { metadata }: AccessibilityScan): Promise<Organisation | null> {
  const { organisations, dashboardSchedules } = stores;
  const namespace = metadata.namespace!;
  const schedule = metadata.ownerReferences?.find(({ kind, controller }) => controller && kind === 'ScanSchedule');
  if (namespace !== settings.namespace || schedule === undefined) return organisations.findByNamespace(namespace);
  const [claimed] = (await dashboardSchedules.owners([{ namespace, name: schedule.name }])).values();
  if (claimed !== undefined) return organisations.find(claimed);
  return isOfDashboard(metadata, settings.namespace) ? null : organisations.findByNamespace(namespace);
}

/** Refuses a manifest early whose organisation lacks the credits now. Whether it has them, only `reserve` decides. */
async function canPay({ stores }: OperatorContext, row: ScanRow): Promise<Reserved> {
  if (row.pagesReserved > 0) return { ok: true, row };
  const { balance } = await stores.credits.balance(row.organisation);
  const { maxPages } = row.options;
  return balance >= maxPages ? { ok: true, row } : { ok: false, end: reasons.insufficientCredits(maxPages, balance) };
}

/** Accepts a submission with the credits that the API reserved, unless the API or the sweeper abandons it first. */
async function acceptSubmission({ stores: { credits, scans }, clock }: OperatorContext, row: ScanRow): Promise<Vetted> {
  const held = await credits.reserve(reservationOf(row, clock.now()));
  const decided = held.ok ? await scans.accept(row.id, { pagesReserved: held.reserved }) : await scans.abandon(row.id);
  if (held.ok && decided.ok) return { ok: true, row: decided.row };
  if (!held.ok && !decided.ok && decided.reason === 'accepted') throw new Error(`scan ${row.id} was accepted without credits`);
  return { ok: false, end: reasons.SUBMISSION_ABANDONED };
}

/** Reserves the credits of an admitted manifest, all or nothing. @throws if a retry may succeed */
export async function reserve({ stores, clock }: OperatorContext, scanId: string): Promise<Reserved> {
  const row = await stores.scans.find(scanId);
  const organisation = row && (await stores.organisations.find(row.organisation));
  if (row === null || organisation === null) return { ok: false, end: reasons.SUBMISSION_ABANDONED };
  // It may have been blocked while the scan waited.
  if (organisation.blocked) return { ok: false, end: reasons.organisationBlocked(organisation) };
  const reservation = reservationOf(row, clock.now());
  const held = await stores.credits.reserve(reservation);
  if (!held.ok && held.reason === 'insufficient_credits')
    return { ok: false, end: reasons.insufficientCredits(reservation.pages, held.balance) };
  if (!held.ok)
    throw new ReservationLate(
      'The reservation of credits was too late for MongoDB. If this lasts, the clocks of the operator and MongoDB differ.',
    );
  const mirrored = await stores.scans.mirror(row.id, { pagesReserved: held.reserved });
  return mirrored === null ? { ok: false, end: reasons.SUBMISSION_ABANDONED } : { ok: true, row: mirrored.row };
}

/** A repeated reservation returns the existing hold. */
function reservationOf(row: ScanRow, now: Date): ReservationRequest {
  const deadline = new Date(now.getTime() + RESERVE_WITHIN_MS);
  return { organisation: creditAccountOf(row), scanId: row.id, pages: row.options.maxPages, partial: false, deadline };
}

function newScan(scan: AccessibilityScan, scanId: string, organisation: string, metadata: Metadata): NewScan {
  const schedule = scan.metadata.labels?.[SCHEDULE_LABEL];
  return {
    id: scanId,
    organisation,
    origin: 'manifest',
    resource: { namespace: scan.metadata.namespace!, name: scan.metadata.name },
    queue: queueOf(scan),
    submission: 'accepted',
    options: withDefaults(scan.spec),
    metadata,
    ...(scan.spec.baseline && { baseline: scan.spec.baseline }),
    ...(schedule !== undefined && { schedule }),
    createdAt: new Date(scan.metadata.creationTimestamp!),
  };
}

/** Reports that retention deletes earlier than this are not used: pod and operator read them, and must see the same. */
const LASTS_DAYS = 1;
const DAY_MS = 86_400_000;

/** Returns the baseline of a scan, or why there is none. @throws if MongoDB is unavailable */
export async function chooseBaseline(context: OperatorContext, scanId: string, choice: BaselineChoice): Promise<NamedBaseline> {
  const { stores, settings, clock } = context;
  const how = {
    optional: choice.optional ?? false,
    ...(choice.count === 'causes' && { count: choice.count }),
    ...(choice.check && { check: choice.check }),
  };
  const row = await stores.scans.find(scanId);
  const found = row && (await findBaseline(context, row, choice));
  if (found === null || found.phase !== 'done' || isCheck(found) || found.id === scanId || found.test !== row?.test)
    return { ...how, problem: 'not_found' };
  const expiresIn = (found.finishedAt?.getTime() ?? 0) + settings.retentionDays * DAY_MS - clock.now().getTime();
  return found.reports === null || expiresIn < LASTS_DAYS * DAY_MS
    ? { scanId: found.id, ...how, problem: 'not_stored' }
    : { scanId: found.id, ...how };
}

async function findBaseline({ stores: { scans } }: OperatorContext, row: ScanRow, choice: BaselineChoice): Promise<ScanRow | null> {
  const { scan, metadata, schedule, site } = choice;
  if (scan !== undefined) return scans.find(scan.toLowerCase(), row.organisation);
  // A manifest means the schedule beside it. Over HTTP, nobody names a namespace.
  const namespace = row.origin === 'manifest' ? { namespace: row.resource.namespace } : {};
  const kind = schedule !== undefined ? { schedule, ...namespace } : { metadata: metadata ?? {} };
  // Another schedule may have had the name, for another site.
  const of = { ...kind, site: site?.toLowerCase() ?? siteOf(row.options.url) };
  // Only scans of before, so that the choice does not depend on how long this one waited.
  return scans.newestDoneWith(row.organisation, { ...of, before: row.createdAt, ...(row.test && { test: true }) });
}
