/** Deletes organisations for good: nothing that names one remains, and its name can be used again. */
import type { Db, Document } from 'mongodb';
import { creditAccountOf } from '../../core/scan/counts.ts';
import { uuidOf } from '../../core/uuid.ts';
import { insertNew } from '../mongo-retry.ts';
import { SUBSCRIPTIONS } from '../outbox/subscriptions.ts';
import type { OrganisationDocument } from './organisation-document.ts';

/** Collections whose documents have the field `organisation`. */
const OWNED = [
  'keys', 'webhooks', 'webhook_events', 'outbox', 'invitations', 'sites', 'siteLabels', 'schedules', 'knownIssues', 'comparisons',
  'sessions', 'audit', SUBSCRIPTIONS,
] as const; // prettier-ignore
/** Collections whose IDs begin with the organisation and a slash. */
const PREFIXED = ['idempotency', 'knownIssueMatches'] as const;

/** The accounts of an organisation: its own, and that of its test keys. */
const accountsOf = (organisation: string): string[] => [organisation, creditAccountOf({ organisation, test: true })];

interface LedgerDocument extends Document {
  _id: string;
  organisation: string;
}

export type Purge =
  /** `schedules`: those of the dashboard that may still be in the cluster, as `namespace/name`. */
  | { ok: true; scans: number; schedules: string[] }
  /** `open`: it is neither deleted nor blocked by `curbcut-admin`. `scans_live`: its scans hold credits. `reopened`: a part is deleted. */
  | { ok: false; reason: 'not_found' | 'open' | 'scans_live' | 'reopened' };

/** @param deps.eraseScans as `Scans.eraseAll` @param deps.relay as `Credits.relay` */
export function createPurge(db: Db, deps: { eraseScans: (id: string) => Promise<number>; relay: (id: string) => Promise<unknown> }) {
  const organisations = db.collection<OrganisationDocument>('organisations');
  const accounts = db.collection<{ _id: string; held: object }>('accounts');
  const ledger = db.collection<LedgerDocument>('ledger');

  /** Moves the account and the ledger to a name that says nothing: the numbers stay, without anyone's. */
  async function keepNumbers(id: string, name: string): Promise<void> {
    await deps.relay(id);
    for await (const { _id, ...entry } of ledger.find({ organisation: id })) {
      await insertNew(ledger, { ...entry, organisation: name, _id: name + _id.slice(id.length) });
      await ledger.deleteOne({ _id });
    }
    const account = await accounts.findOne({ _id: id });
    if (account !== null) await insertNew(accounts, { ...account, _id: name });
    for (const _id of accountsOf(id)) await accounts.deleteOne({ _id });
  }

  return {
    /** Can be repeated after a failure. Reports are deleted by the next sweeps of the operator. */
    async purge(id: string): Promise<Purge> {
      const closed = { $or: [{ deletedAt: { $exists: true } }, { managedBy: 'admin' as const, blocked: true }] };
      const found = await organisations.findOne({ _id: id });
      if (found === null) return { ok: false, reason: 'not_found' };
      const both = await accounts.find({ _id: { $in: accountsOf(id) } }).toArray();
      if (both.some(({ held }) => Object.keys(held ?? {}).length > 0)) return { ok: false, reason: 'scans_live' };
      // No manifest restores it meanwhile.
      const { matchedCount } = await organisations.updateOne({ _id: id, ...closed }, { $set: { managedBy: 'admin', blocked: true } });
      if (matchedCount === 0) return { ok: false, reason: 'open' };
      const schedules = await db.collection<{ _id: string }>('dashboardSchedules').find({ organisation: id }).toArray();
      let scans = 0;
      const closedOne = { _id: id, createdAt: found.createdAt, managedBy: 'admin' as const, blocked: true };
      const steps: (() => Promise<unknown>)[] = [
        async () => (scans = await deps.eraseScans(id)),
        () => keepNumbers(id, `~${uuidOf(JSON.stringify([id, found.createdAt]))}`),
        ...OWNED.map((name) => () => db.collection(name).deleteMany({ organisation: id })),
        // '0' follows '/'.
        ...PREFIXED.map((name) => () => db.collection<{ _id: string }>(name).deleteMany({ _id: { $gt: `${id}/`, $lt: `${id}0` } })),
        () => db.collection<{ _id: string }>('memberships').deleteOne({ _id: id }),
        () => db.collection<{ unconfirmed: string[] }>('users').updateMany({ unconfirmed: id }, { $pull: { unconfirmed: id } }),
        // What another process copied meanwhile from the account, as it was before it moved with its operations.
        () => ledger.deleteMany({ organisation: id }),
        // Until now a repetition names them again.
        () => db.collection('dashboardSchedules').deleteMany({ organisation: id }),
        () => organisations.deleteOne(closedOne),
      ];
      // Another purge may be faster, and the next organisation of the name be there: nothing of it is deleted.
      for (const step of steps) if ((await organisations.countDocuments(closedOne, { limit: 1 })) === 1) await step();
      if ((await organisations.countDocuments({ _id: id, createdAt: found.createdAt })) > 0) return { ok: false, reason: 'reopened' };
      return { ok: true, scans, schedules: schedules.map(({ _id }) => _id) };
    },
  };
}
