/**
 * What MongoDB holds about the organisations of the cluster's Organisation resources. Reads many in a few commands, whatever
 * their number: all of them periodically, and those that are needed sooner together.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AccountSummary } from '../../stores/credits/credits.ts';
import type { OperatorContext } from '../context.ts';
import type { AppliedOrganisation } from '../../stores/accounts/organisation-manifests.ts';
import type { AppliedWebhook } from '../../stores/webhooks/manifest-webhooks.ts';

export interface OrganisationRecord {
  organisation: AppliedOrganisation | null;
  account: AccountSummary | null;
  granted: ReadonlySet<string>;
  /** The organisations that have namespaces of the spec, by namespace; without the organisation itself. */
  owners: ReadonlyMap<string, string>;
  webhooks: readonly AppliedWebhook[];
}

type Wanted = ReadonlyMap<string, readonly string[]>;

/** The time after a failed read for which `get` fails at once. */
const FAILED_FOR_MS = 1_000;

/** @param wanted the IDs of all Organisation resources, with the namespaces of their specs */
export function createRecords({ stores, logger, clock }: OperatorContext, wanted: () => Wanted) {
  const { organisations, credits, webhooks } = stores;
  const held = new Map<string, OrganisationRecord>();
  /** Grows each time a record is forgotten, so that a read that began before is not kept. */
  const versions = new Map<string, number>();
  let reading: Promise<unknown> | null = null;
  let failure: { error: unknown; until: number } | null = null;

  /** The namespaces that an organisation wants and did not have at the last read. */
  function unowned([id, namespaces]: readonly [string, readonly string[]]): string[] {
    const own = held.get(id)?.organisation?.namespaces ?? [];
    return namespaces.filter((namespace) => !own.includes(namespace));
  }

  async function query(asked: Wanted): Promise<Map<string, OrganisationRecord>> {
    const ids = [...asked.keys()];
    const namespaces = [...new Set([...asked].flatMap(unowned))];
    const [rows, accounts, applied] = await Promise.all([
      organisations.findApplied(ids, namespaces),
      credits.accounts(ids),
      webhooks.applied(ids),
    ]);
    // Grants only grow, except when the database is restored from a backup.
    const isKnown = (id: string) => (held.get(id)?.account?.sequence ?? Infinity) <= (accounts.get(id)?.sequence ?? -1);
    const unknown = ids.filter((id) => accounts.has(id) && !isKnown(id));
    const grants = await credits.grantIds(unknown);
    const byId = new Map(rows.map((row) => [row.id, row]));
    const ownerOf = new Map(rows.flatMap(({ id, namespaces }) => namespaces.map((namespace) => [namespace, id] as const)));
    return new Map(
      [...asked].map(([id, wants]) => {
        const others = wants.flatMap((namespace) => {
          const owner = ownerOf.get(namespace);
          return owner === undefined || owner === id ? [] : [[namespace, owner] as const];
        });
        const granted = grants.get(id) ?? (isKnown(id) ? held.get(id)!.granted : new Set<string>());
        const own = { organisation: byId.get(id) ?? null, account: accounts.get(id) ?? null, webhooks: applied.get(id) ?? [] };
        return [id, { ...own, granted, owners: new Map(others) }];
      }),
    );
  }

  /** Reads records and keeps those that nothing has changed since. @returns what was kept and what was held before */
  async function read(asked: Wanted) {
    const began = new Map([...asked.keys()].map((id) => [id, versions.get(id) ?? 0]));
    try {
      const found = await query(asked);
      if (failure !== null) logger.info({}, 'organisations available again');
      failure = null;
      const current = wanted();
      return [...found].flatMap(([id, record]) => {
        if (!current.has(id) || (versions.get(id) ?? 0) !== began.get(id)) return [];
        const before = held.get(id);
        held.set(id, record);
        return [{ id, before, record }];
      });
    } catch (error) {
      if (failure === null) logger.warn({ err: error }, 'organisations unavailable');
      failure = { error, until: clock.monotonic() + FAILED_FOR_MS };
      throw error;
    }
  }

  return {
    /** Returns the record of the last read; reads it if there is none, or if it was forgotten. @throws if MongoDB does not answer */
    async get(id: string): Promise<OrganisationRecord> {
      for (;;) {
        const record = held.get(id);
        if (record !== undefined) return record;
        if (failure !== null && clock.monotonic() < failure.until) throw failure.error;
        // The resource is gone from the cache; the next reconcile notices it.
        if (!wanted().has(id)) throw new Error(`there is no Organisation ${id}`);
        reading ??= read(new Map([...wanted()].filter(([missing]) => !held.has(missing)))).finally(() => (reading = null));
        await reading;
      }
    },
    /** Makes the next `get` read the record again, because something has changed it. */
    forget(id: string): void {
      held.delete(id);
      if (wanted().has(id)) versions.set(id, (versions.get(id) ?? 0) + 1);
      else versions.delete(id);
    },
    /** Reads the records of all resources. @returns the IDs of those that differ from the last read, only in their amounts or else */
    async refresh() {
      const changed: { amounts: string[]; others: string[] } = { amounts: [], others: [] };
      const all = wanted();
      if (all.size === 0) return changed;
      for (const { id, before, record } of await read(all)) {
        if (before === undefined || isDeepStrictEqual(before, record)) continue;
        const same = isDeepStrictEqual({ ...before, account: null }, { ...record, account: null });
        changed[same ? 'amounts' : 'others'].push(id);
      }
      return changed;
    },
    /** The organisations whose specs name namespaces of others. */
    conflicting: () => [...held].filter(([, { owners }]) => owners.size > 0).map(([id]) => id),
  };
}
