/** Records in the audit log who started and who canceled a scan: once for each scan, whoever asks for it again. */
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../../platform/logger.ts';
import { storesOf } from '../accounts/scoped-stores.ts';
import { callerOf } from '../http/plugins/auth.ts';

/** A failure is only logged, because the scan was started or canceled. */
export async function recordScan(
  request: FastifyRequest,
  action: 'submit' | 'cancel',
  { id, url }: { id: string; url: string },
  logger: Logger,
): Promise<void> {
  await storesOf(request)
    .audit.record(`scan.${action}`, `${url} ${id}`, id)
    .catch((err: unknown) =>
      logger.error({ request: request.id, organisation: callerOf(request).organisation.id, scan: id, action, err }, 'audit entry lost'),
    );
}

/** The address and the ID of the scan that an entry is about; null if it is not about a scan. */
export function scanOfEntry({ action, subject }: { action: string; subject: string | null }): { url: string; id: string } | null {
  const [, url, id] = (action.startsWith('scan.') && /^(.*) ([0-9a-f-]{36})$/s.exec(subject ?? '')) || [];
  return url === undefined || id === undefined ? null : { url, id };
}
