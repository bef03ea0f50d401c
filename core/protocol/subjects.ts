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

/** The subjects of the pods of one scan begin with this. */
export const teamSubject = (scanId: string): string => `team.${scanId}`;
/** The subject on which pod 0 of a scan speaks to a helper, and the one on which that answers. */
export const toHelper = (subject: string, index: number | '*'): string => `${subject}.to.${index}`;
export const fromHelper = (subject: string, index: number | '*'): string => `${subject}.from.${index}`;
