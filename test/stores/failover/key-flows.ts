/** Flows of API keys: issue and revoke, as the dashboard does it. */
import type { Db } from 'mongodb';
import { KEY_SCOPES, type Caller } from '../../../core/accounts.ts';
import { detectStoreOutages } from '../../../api/http/dependency-outages.ts';
import type { ApiStores } from '../../../api/dependencies.ts';
import { ApiError, statusOf } from '../../../api/http/errors.ts';
import { createKeyManagement } from '../../../api/accounts/key-management.ts';
import { refusalOf } from '../../../api/http/plugins/errors.ts';
import { scopedTo } from '../../../api/accounts/scoped-stores.ts';
import { createOrganisations } from '../../../stores/accounts/organisations.ts';
import { createKeys } from '../../../stores/accounts/keys.ts';
import { openStores } from '../../../stores/stores.ts';
import { issueKey } from '../../support/issue-key.ts';
import { silentLogger } from '../../support/silent-logger.ts';
import type { FlowOf } from './flow.ts';

const ID = 'c7f3a1de-0000-4000-8000-000000000000';

/** The stores as the API uses them. @param others that are not in the database */
export function apiStores(db: Db, others: Partial<ApiStores> = {}): ApiStores {
  return detectStoreOutages({ ...openStores(db), reports: {}, scanResources: {}, ...others } as ApiStores, {
    timeoutMs: 10_000,
    onDown: () => undefined,
  });
}

/** Whether the API responds to the error with 503. */
export const isUnavailable = (error: unknown): boolean => statusOf(refusalOf(error)) === 503;

export async function addOrganisation(healthy: Db): Promise<void> {
  await createOrganisations(healthy).add({ id: 'acme', displayName: 'Acme', plan: 'team', namespaces: [] });
}

/** What the administrator of an organisation asks the API. */
async function asked(db: Db, healthy: Db) {
  const organisation = (await createOrganisations(healthy).find('acme'))!;
  const caller: Caller = {
    organisation,
    actor: { kind: 'key', keyId: 'admin', scopes: KEY_SCOPES, expiresAt: null, rootCreator: 'admin', test: false },
  };
  return { caller, stores: scopedTo(caller, apiStores(db)), request: 'request' };
}
const management = createKeyManagement({ now: () => new Date(), logger: silentLogger });

/** The key of the flow, and the entries of the audit log: each is there once, also if the request was repeated. */
async function endOf(healthy: Db) {
  const keys = await healthy.collection<{ _id: string; revokedAt: Date | null; slot?: string }>('keys').find({ name: 'wanted' }).toArray();
  const audit = await createOrganisations(healthy).audit('acme', 100);
  const entries = audit.map(({ action, subject }) => `${action} ${subject}`);
  return {
    keys: keys.map(({ _id, revokedAt, slot }) => ({ id: _id, revoked: revokedAt !== null, hasSlot: slot !== undefined })),
    entries: entries.toSorted(),
  };
}

export const issue: FlowOf = (db, healthy) => ({
  async prepare() {
    await addOrganisation(healthy);
    await issueKey(createKeys(healthy), 'acme', { id: 'admin' });
    // Gives up its slot first.
    await issueKey(createKeys(healthy), 'acme', { expiresAt: new Date(0) });
  },
  async attempt() {
    const issued = await management.issue(await asked(db, healthy), { name: 'wanted', expiresAt: null, scopes: KEY_SCOPES, id: ID });
    // The page says so, and that the key can be revoked.
    if (!issued.ok && issued.reason !== 'already_issued') throw new Error(issued.reason);
  },
  isOutage: isUnavailable,
  end: () => endOf(healthy),
});

export const revoke: FlowOf = (db, healthy) => ({
  async prepare() {
    await addOrganisation(healthy);
    await issueKey(createKeys(healthy), 'acme', { name: 'wanted', id: ID });
  },
  async attempt() {
    try {
      await management.revoke(await asked(db, healthy), ID);
    } catch (error) {
      // A repeated request finds no live key.
      if (!(error instanceof ApiError && error.code === 'key_not_found')) throw error;
    }
  },
  isOutage: isUnavailable,
  end: () => endOf(healthy),
});
