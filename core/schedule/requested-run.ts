/** The run of a schedule that was requested with its annotation. Pure. */
import { createHash } from 'node:crypto';
import { RUN_ANNOTATION, type ScanSchedule } from '../protocol/scan-schedules.ts';

/** Longer tokens are recorded as their digest, because the size of a status is limited. */
const TOKEN_MAX = 200;

/** Returns the requested run's token as the status records it, or null if no run is requested. */
export function requestedRun({ metadata }: Pick<ScanSchedule, 'metadata'>): string | null {
  const token = metadata.annotations?.[RUN_ANNOTATION];
  if (token === undefined || token === '') return null;
  return token.length <= TOKEN_MAX ? token : `sha256:${createHash('sha256').update(token).digest('hex')}`;
}
