/** ScanQueues, and the scans that wait in them. */
import { GROUP, queueOf, QUEUES_PLURAL, type AccessibilityScan, type KubernetesObject } from '../../core/protocol/custom-resources.ts';
import type { CliContext, Output } from '../commands/output.ts';
import { KubectlError } from './errors.ts';
import type { Kubectl } from './kubectl.ts';
import { namedResultOf, SCANS } from './scans.ts';

export const QUEUES = `${QUEUES_PLURAL}.${GROUP}`;

/**
 * Lists objects: of the namespace of -n; without it of all namespaces, or of the context's if the user may read only that.
 * Queues are in the namespace of Curbcut, which people in other namespaces need not know.
 */
export async function listEverywhere<T extends KubernetesObject>(kubectl: Kubectl, resource: string): Promise<T[]> {
  const list = async (...where: string[]): Promise<T[]> => (await kubectl.json<{ items: T[] }>(['get', resource, ...where])).items;
  if (kubectl.options.flags.some((flag) => flag.startsWith('--namespace='))) return list();
  try {
    return await list('--all-namespaces');
  } catch (error) {
    if (error instanceof KubectlError && error.reason === 'Forbidden') return list();
    throw error;
  }
}

export interface WaitingScan {
  scan_id: string;
  namespace: string;
  name: string;
  url: string;
  organisation: string | null;
  priority: number;
  submitted_at: string;
  message: string | null;
}

/** The scans that wait in a queue, of the namespaces that the user may read. */
export async function waitingIn(kubectl: Kubectl, queue: string): Promise<WaitingScan[]> {
  const scans = await listEverywhere<AccessibilityScan>(kubectl, SCANS);
  return scans.filter((scan) => queueOf(scan) === queue && isWaiting(scan)).map(waitingScan);
}

/** A scan that was admitted is `queued` until its pod has started. */
function isWaiting({ status = {} }: AccessibilityScan): boolean {
  const admitted = status.conditions?.find(({ type }) => type === 'Admitted');
  return (status.phase ?? 'queued') === 'queued' && admitted?.status !== 'True';
}

function waitingScan(scan: AccessibilityScan): WaitingScan {
  const { scan_id, namespace, name, url, submitted_at, message } = namedResultOf(scan);
  const organisation = scan.status?.organisation ?? null;
  return { scan_id, namespace, name, url, organisation, priority: scan.spec.priority ?? 0, submitted_at, message };
}

/**
 * The positions of the organisation's own scans among those that wait in a queue, by scan ID; null if the environment names no
 * service: a stored login may be for another one than that of this cluster. Only a poll of a scan states its position, so that the number of scans is limited.
 */
export async function positionsOf(
  queue: string,
  waiting: readonly WaitingScan[],
  context: CliContext,
  output: Pick<Output, 'maxWaitSeconds' | 'progress'>,
): Promise<Map<string, number> | null> {
  const { CURBCUT_URL: url, CURBCUT_API_KEY: key } = context.environment;
  if (!url && !key) return null;
  const { connect } = await import('../commands/service.ts');
  const { LISTED_MAX, listAll } = await import('../service/list.ts');
  const client = connect(context, output);
  const own = new Set((await listAll(client, { status: 'queued', limit: LISTED_MAX })).data.map(({ scan_id: id }) => id));
  const asked = waiting.filter(({ scan_id: id }) => own.has(id)).toSorted((a, b) => a.submitted_at.localeCompare(b.submitted_at));
  const positions = new Map<string, number>();
  for (const { scan_id: id } of asked.slice(0, POLLED_MAX)) {
    const { queue: place } = (await client.poll(id)).result;
    if (place?.name === queue && place.position !== null) positions.set(id, place.position);
  }
  return positions;
}

/** Positions per command, oldest scans first: a key may send only so many requests per minute. */
const POLLED_MAX = 30;
