/**
 * Finds the results that a scan's pods have stored, whether or not a message announced them. The last object that a pod
 * uploads is its statement `result.json`. It is untrusted, as every message of a pod.
 */
import { POD_MESSAGE_MAX_BYTES, type PodIdentity, type PodStored } from '../../../core/protocol/pod-messages.ts';
import { incomingKeys, type Reports } from '../../../stores/reports.ts';
import { readPodMessage } from './pod-message-log.ts';

export interface FoundResult {
  stored: PodStored;
  /** The upload slot that holds the objects. */
  slot: PodIdentity;
}

/**
 * Reads the statements of all upload slots.
 * @param slots ordered by attempt
 * @returns the valid ones, in the same order
 * @throws if the object store is unavailable
 */
export async function findResults(
  reports: Pick<Reports, 'read'>,
  scanId: string,
  slots: readonly PodIdentity[],
  signal?: AbortSignal,
): Promise<FoundResult[]> {
  const found = await Promise.all(
    slots.map(async (slot): Promise<FoundResult[]> => {
      const read = await reports.read(incomingKeys(scanId, slot).result, POD_MESSAGE_MAX_BYTES, signal);
      const stored = read.ok ? readPodMessage(read.bytes, scanId) : null;
      // Attempts beyond the last slot share it.
      return stored?.kind === 'stored' && stored.attempt >= slot.attempt ? [{ stored, slot }] : [];
    }),
  );
  return found.flat();
}
