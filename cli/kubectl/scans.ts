/** AccessibilityScans as the command line reads and writes them. */
import { API_VERSION, GROUP, metadataAnnotations, metadataOf, queueOf, REQUEST_ID_ANNOTATION, resourceNameOf, SCAN_ID_ANNOTATION, scanIdOf, SCANS_PLURAL, type AccessibilityScan, type AccessibilityScanSpec } from '../../core/protocol/custom-resources.ts'; // prettier-ignore
import { fromOutcomeStatus, type Outcome } from '../../core/scan/outcome.ts';
import type { Metadata } from '../../core/scan/metadata.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import { CliError, UsageError } from '../errors.ts';
import type { Step } from '../service/follow.ts';
import { isScanId } from '../service/scan-reference.ts';
import { resultOf, type FullResult } from '../result.ts';
import { KubectlError } from './errors.ts';
import type { Kubectl } from './kubectl.ts';

/** The resource as kubectl names it, with its group: other groups may have one of the same name. */
export const SCANS = `${SCANS_PLURAL}.${GROUP}`;

/** A scan's result with the names of its resource. */
export interface NamedResult extends FullResult {
  namespace: string;
  name: string;
  submitted_at: string;
  queue_name: string;
}

/**
 * Returns the scan's ID. Only a resource in the API's namespace has its ID in an annotation, and the API names it after the
 * ID. Elsewhere anybody can write annotations.
 */
export function idOf(scan: AccessibilityScan): string {
  const given = scan.metadata.annotations?.[SCAN_ID_ANNOTATION];
  const byApi = given !== undefined && scan.metadata.name === resourceNameOf(given);
  return scanIdOf(scan, byApi ? scan.metadata.namespace! : '');
}

export const hasEnded = ({ status }: AccessibilityScan): boolean => isTerminal(status?.phase ?? '');

/** Null without a result. */
export function outcomeOfScan({ status = {} }: AccessibilityScan): Outcome | null {
  const { pages } = status;
  return fromOutcomeStatus({ ...status, pages: pages && { scanned: pages.scanned, failed: pages.failed } });
}

/** The status of a resource in the form of the API's scan results. */
export function namedResultOf(scan: AccessibilityScan): NamedResult {
  const { metadata, spec, status = {} } = scan;
  const scanId = idOf(scan);
  return {
    ...resultOf({
      scanId,
      url: spec.url,
      status: status.phase ?? 'queued',
      outcome: outcomeOfScan(scan),
      passed: hasEnded(scan) ? (status.passed ?? null) : null,
      message: status.message ?? null,
      reportUrl: status.reports?.pdf ?? null,
      metadata: metadataOf(scan),
    }),
    namespace: metadata.namespace!,
    name: metadata.name,
    submitted_at: metadata.creationTimestamp!,
    queue_name: queueOf(scan),
  };
}

/** The progress of a scan. The operator writes the tested pages now and then, and the total is what the scan may test. */
export function stepOf({ status = {} }: AccessibilityScan): Step {
  const { phase = 'queued', pages } = status;
  return { phase, pages: pages === undefined || phase === 'queued' ? null : { scanned: pages.scanned, total: pages.reserved } };
}

/** Whether no operator has acted on the scan yet. */
export const isUntouched = ({ status }: AccessibilityScan): boolean => status?.conditions === undefined;

/** Why a scan waits for something else than its turn; null if it waits for its turn or no longer waits. */
export function heldBack(scan: AccessibilityScan): string | null {
  if (isUntouched(scan))
    return 'No operator has acted on the scan yet: check that Curbcut runs in this cluster, and that it watches this namespace';
  const { conditions = [] } = scan.status!;
  const admitted = conditions.find(({ type }) => type === 'Admitted');
  if (admitted?.status !== 'False' || admitted.reason === 'Queued') return null;
  return admitted.message.replace(/\.$/, '');
}

/** The name of a scan's resource: a DNS label of the site's host and a part of the request's ID. */
export function newName(url: string, requestId: string): string {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  const label = host.toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, 50).replace(/^-+|-+$/g, ''); // prettier-ignore
  return `${label === '' ? 'scan' : label}-${requestId.replaceAll('-', '').slice(0, 8)}`;
}

export interface NewScan {
  name: string;
  spec: AccessibilityScanSpec;
  metadata?: Metadata;
  /** Identifies this submission, so that a create whose answer was lost is recognised when it is sent again. */
  requestId: string;
}

/** Creates a scan, once. @throws CliError if the name is taken */
export async function createScan(kubectl: Kubectl, { name, spec, requestId, metadata = {} }: NewScan): Promise<AccessibilityScan> {
  const annotations = { [REQUEST_ID_ANNOTATION]: requestId, ...metadataAnnotations(metadata) };
  const manifest = JSON.stringify({ apiVersion: API_VERSION, kind: 'AccessibilityScan', metadata: { name, annotations }, spec });
  try {
    return await kubectl.json<AccessibilityScan>(['create', '-f', '-'], manifest);
  } catch (error) {
    if (!(error instanceof KubectlError) || error.reason !== 'AlreadyExists') throw error;
    const existing = await getScan(kubectl, name);
    if (existing.metadata.annotations?.[REQUEST_ID_ANNOTATION] === requestId) return existing;
    throw new CliError(
      `There is already an AccessibilityScan ${name} in the namespace ${existing.metadata.namespace}, and a scan runs once.`,
      'Choose another --name, or delete that one first.',
    );
  }
}

/** @throws KubectlError if the scan does not exist */
export function getScan(kubectl: Kubectl, name: string): Promise<AccessibilityScan> {
  return kubectl.json<AccessibilityScan>(['get', SCANS, name]);
}

/** Resolves the name of a resource to the ID of its scan. An ID stays one: the resource may have been deleted. */
export async function resolveScan(kubectl: Kubectl, name: string): Promise<string> {
  try {
    return idOf(await getScan(kubectl, name));
  } catch (error) {
    if (!(error instanceof KubectlError) || error.reason !== 'NotFound') throw error;
    if (isScanId(name)) return name;
    throw new CliError(error.message, 'The result of a deleted scan is kept: use its scan ID, which `curbcut list` shows.');
  }
}

/** Whether a word can be a name. kubectl would take another one for an option, such as `--all`, and act on many objects. */
export const isName = (word: string): boolean => /^[a-z0-9][-a-z0-9.]*$/i.test(word);

/** Accepts `NAME` and, as kubectl does, `a11y/NAME`. @throws UsageError */
export function scanName(argument: string): string {
  const parts = argument.split('/');
  const name = parts.pop()!;
  const known = parts.length === 0 || (parts.length === 1 && ['a11y', 'accessibilityscan', SCANS_PLURAL, SCANS].includes(parts[0]!));
  if (known && isName(name)) return name;
  throw new UsageError(`${argument} is not the name of a scan.`);
}
