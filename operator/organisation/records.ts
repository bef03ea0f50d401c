/**
 * What MongoDB holds about the organisations of the cluster's Organisation resources. Reads many in a few commands, whatever
 * their number: all of them periodically, and those that are needed sooner together.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../platform/logger.ts';
import type { AccountSummary, Credits } from '../../stores/credits/credits.ts';
import type { Organisations } from '../../stores/accounts/organisations.ts';
import type { Webhooks } from '../../stores/webhooks/webhooks.ts';
import type { Clock } from '../../platform/clock.ts';
import type { AppliedOrganisation } from '../../stores/accounts/organisation-manifests.ts';
import type { AppliedWebhook } from '../../stores/webhooks/manifest-webhooks.ts';

/** What MongoDB holds about an organisation. */
export interface OrganisationRecord {
  /** Null if the organisation does not exist. */
  organisation: AppliedOrganisation | null;
  /** Null if it has no account. */
  account: AccountSummary | null;
  /** The IDs of all grants ever made. */
  granted: ReadonlySet<string>;
  /** The organisations that have namespaces of the spec, by namespace; without the organisation itself. */
  owners: ReadonlyMap<string, string>;
  /** The webhooks of its manifest. */
  webhooks: readonly AppliedWebhook[];
}

/** Namespaces by the ID of the organisation. */
type Wanted = ReadonlyMap<string, readonly string[]>;

export interface RecordsDeps {
  organisations: Pick<Organisations, 'findApplied'>;
  credits: Pick<Credits, 'accounts' | 'grantIds'>;
  webhooks: Pick<Webhooks, 'applied'>;
  /** The IDs of all Organisation resources, with the namespaces of their specs. */
  wanted(): Wanted;
  logger: Logger;
  clock: Clock;
}

/** The IDs whose records differ from the last read. */
export interface ChangedRecords {
  /** Only the amounts differ. */
  amounts: string[];
  others: string[];
}

export interface Records {
  /** Returns the record of the last read; reads it if there is none, or if it was forgotten. @throws if MongoDB does not answer */
  get(id: string): Promise<OrganisationRecord>;
  /** Makes the next `get` read the record again, because something has changed it. */
  forget(id: string): void;
  /** Reads the records of all resources. */
  refresh(): Promise<ChangedRecords>;
  /** The organisations whose specs name namespaces of others. */
  conflicting(): string[];
}

/** The time after a failed read for which `get` fails at once. */
const FAILED_FOR_MS = 1_000;

export function createRecords({ organisations, credits, webhooks, wanted, logger, clock }: RecordsDeps): Records {
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
    async get(id) {
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
    forget(id) {
      held.delete(id);
      if (wanted().has(id)) versions.set(id, (versions.get(id) ?? 0) + 1);
      else versions.delete(id);
    },
    async refresh() {
      const changed: ChangedRecords = { amounts: [], others: [] };
      const all = wanted();
      if (all.size === 0) return changed;
      for (const { id, before, record } of await read(all)) {
        if (before === undefined || isDeepStrictEqual(before, record)) continue;
        const same = isDeepStrictEqual({ ...before, account: null }, { ...record, account: null });
        changed[same ? 'amounts' : 'others'].push(id);
      }
      return changed;
    },
    conflicting: () => [...held].filter(([, { owners }]) => owners.size > 0).map(([id]) => id),
  };
}
