/** Subjects on NATS. Messages may be lost: the stored state has the same information. */

/** The subject of the progress of one scan. Only the scan's pod may publish on it. */
export function progressSubject(scanId: string): string {
  return `progress.${scanId}`;
}

/** The progress of all scans. The operator subscribes to it. */
export const ALL_PROGRESS = 'progress.*';

/**
 * The subject on which the operator publishes an empty message after each change of one scan: read the stored scan again. Organisation
 * IDs are `[a-z0-9-]`, so each is one token.
 */
export function statusSubject(organisation: string, scanId: string): string {
  return `status.${organisation}.${scanId}`;
}
