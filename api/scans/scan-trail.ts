/** Records in the audit log who started and who canceled a scan: once for each scan, whoever asks for it again. */
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import type { ScanRow } from '../../stores/scans/scan-row.ts';
import { recordChange } from '../accounts/record-change.ts';

/** Who started a scan, and when, follows from its row, so that a repeated request adds a lost entry, whoever sends it. */
export async function recordScan(
  request: FastifyRequest,
  action: 'submit' | 'cancel',
  { id, site, submittedBy, createdAt }: Pick<ScanRow, 'id' | 'site' | 'submittedBy' | 'createdAt'>,
  logger: Logger,
): Promise<void> {
  const by = action === 'submit' ? { ...(submittedBy !== undefined && { actor: submittedBy }), at: createdAt } : {};
  await recordChange(request, logger, { action: `scan.${action}`, subject: `${site} ${id}`, once: id, ...by });
}

/** The site and the ID of the scan that an entry is about; null if it is not about a scan. */
export function scanOfEntry({ action, subject }: { action: string; subject: string | null }): { site: string; id: string } | null {
  const [, site, id] = (action.startsWith('scan.') && /^(.*) ([0-9a-f-]{36})$/s.exec(subject ?? '')) || [];
  return site === undefined || id === undefined ? null : { site, id };
}
