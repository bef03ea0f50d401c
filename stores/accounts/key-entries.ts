/** The entries of the audit log about an API key. Pure: the key says who created and revoked it, and when. */
import type { NewAuditEntry } from './audit.ts';
import type { ApiKey } from './keys.ts';

/**
 * Returns the entries of a key so far. Because they follow from what is stored, a repeated request can record them again,
 * whoever sends it: each is stored once.
 */
export function keyEntries({ id, organisation, createdAt, createdBy, revokedAt, revokedBy }: ApiKey): NewAuditEntry[] {
  const about = { organisation, subject: id, once: id };
  return [
    { ...about, action: 'key.issue', actor: createdBy, at: createdAt },
    ...(revokedAt === null || revokedBy === null ? [] : [{ ...about, action: 'key.revoke', actor: revokedBy, at: revokedAt }]),
  ];
}
