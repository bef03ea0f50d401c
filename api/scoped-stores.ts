/**
 * The stores as one organisation sees them: the only place that binds queries of pages and REST routes to the organisation of
 * the caller. Routes get these stores by `storesOf`, and no others.
 */
import type { FastifyRequest } from 'fastify';
import { auditName, type Caller } from '../core/accounts.ts';
import type { Keys } from '../stores/accounts/keys.ts';
import type { ScanRow } from '../stores/scans/scan-row.ts';
import type { ApiStores } from './dependencies.ts';
import { callerOf } from './plugins/auth.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** The stores of all organisations. Only `storesOf` uses them. */
    allStores: ApiStores;
  }
}

export type ScopedStores = ReturnType<typeof scopedTo>;

/** Binds the stores to the organisation of a caller. */
export function scopedTo({ organisation: { id }, actor }: Caller, stores: ApiStores) {
  const { scans, keys, credits, organisations, schedules, users } = stores;
  return {
    scans: {
      find: (scanId: string) => scans.find(scanId, id),
      list: (page: Parameters<typeof scans.list>[1]) => scans.list(id, page),
      search: (search: Parameters<typeof scans.search>[1]) => scans.search(id, search),
      trend: (url: string, limit: number) => scans.trend(id, url, limit),
      previousDone: async (row: ScanRow) => (row.organisation === id ? scans.previousDone(row) : null),
    },
    keys: {
      issue: (key: Omit<Parameters<Keys['issue']>[0], 'organisation'>) => keys.issue({ ...key, organisation: id }),
      find: (keyId: string) => keys.find(id, keyId),
      list: (page: Parameters<Keys['list']>[1]) => keys.list(id, page),
      revoke: (keyId: string) => keys.revoke(id, keyId),
    },
    credits: {
      balance: () => credits.balance(id),
      ledger: (page: Parameters<typeof credits.ledger>[1]) => credits.ledger(id, page),
    },
    schedules: {
      list: (page: Parameters<typeof schedules.list>[1]) => schedules.list(id, page),
    },
    users: {
      list: () => users.list(id),
      setRole: (email: string, role: Parameters<typeof users.setRole>[2]) => users.setRole(id, email, role),
      remove: (email: string) => users.remove(email, { organisation: id }),
    },
    audit: {
      /** Records what the caller changed. */
      record: (entry: { action: string; subject: string | null }) =>
        organisations.record({ ...entry, organisation: id, actor: auditName(actor) }),
    },
  };
}

/** The stores of the caller's organisation. @throws TypeError outside the authenticated scopes */
export function storesOf(request: FastifyRequest): ScopedStores {
  return scopedTo(callerOf(request), request.server.allStores);
}
