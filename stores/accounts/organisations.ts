/** Organisations and the namespaces that are charged to them. */
import type { Collection, Db } from 'mongodb';
import { ANONYMOUS, ORGANISATION_ID, type Organisation } from '../../core/organisation.ts';
import { isDuplicate } from '../mongo-retry.ts';
import { createAuditLog, type AuditLog } from './audit.ts';

/** `organisation` is the one that has the namespace. */
export type NamespaceTaken = { ok: false; reason: 'namespace_taken'; namespace: string; organisation: string };
export type AddedOrganisation = { ok: true; organisation: Organisation } | { ok: false; reason: 'already_exists' } | NamespaceTaken;
export type ChangedNamespaces = { ok: true } | { ok: false; reason: 'not_found' } | NamespaceTaken;

export interface Organisations extends AuditLog {
  /** @throws RangeError if the id is not a DNS label */
  add(organisation: Omit<Organisation, 'createdAt' | 'blocked'>): Promise<AddedOrganisation>;
  find(id: string): Promise<Organisation | null>;
  /** Returns the organisation that is charged for manifests in a Kubernetes namespace, or null if there is none. */
  findByNamespace(namespace: string): Promise<Organisation | null>;
  list(): Promise<Organisation[]>;
  /** @returns false if there is no such organisation */
  setBlocked(id: string, blocked: boolean): Promise<boolean>;
  /** Replaces the namespaces that are charged to an organisation. */
  setNamespaces(id: string, namespaces: string[]): Promise<ChangedNamespaces>;
}

/** `namespaces` is absent instead of empty, because the unique index treats two empty arrays as duplicates. */
export type OrganisationDocument = Omit<Organisation, 'id' | 'namespaces'> & { _id: string; namespaces?: string[] };

export function toOrganisation({ _id, displayName, plan, blocked, namespaces, createdAt }: OrganisationDocument): Organisation {
  return { id: _id, displayName, plan, blocked, namespaces: namespaces ?? [], createdAt };
}

/** Organisations and their audit log in MongoDB. */
export function createOrganisations(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): Organisations {
  const organisations = db.collection<OrganisationDocument>('organisations');

  return {
    ...createAuditLog(db, now),

    async add({ id, displayName, plan, namespaces }) {
      if (!ORGANISATION_ID.test(id))
        throw new RangeError(`the id of an organisation must be a DNS label (a-z, 0-9, -), not ${JSON.stringify(id)}`);
      if (id === ANONYMOUS) return { ok: false, reason: 'already_exists' };
      const document: OrganisationDocument = { _id: id, displayName, plan, blocked: false, createdAt: now(), ...listed(namespaces) };
      try {
        await organisations.insertOne(document);
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        // The error does not say which key is the duplicate.
        if ((await organisations.findOne({ _id: id })) !== null) return { ok: false, reason: 'already_exists' };
        return namespaceConflict(organisations, namespaces, id, error);
      }
      return { ok: true, organisation: toOrganisation(document) };
    },

    async find(id) {
      const document = await organisations.findOne({ _id: id });
      return document && toOrganisation(document);
    },

    async findByNamespace(namespace) {
      const document = await organisations.findOne({ namespaces: namespace });
      return document && toOrganisation(document);
    },

    async list() {
      return (await organisations.find().sort({ _id: 1 }).toArray()).map(toOrganisation);
    },

    async setBlocked(id, blocked) {
      const { matchedCount } = await organisations.updateOne({ _id: id }, { $set: { blocked } });
      return matchedCount === 1;
    },

    async setNamespaces(id, namespaces) {
      const { namespaces: list } = listed(namespaces);
      const change = list === undefined ? { $unset: { namespaces: '' } as const } : { $set: { namespaces: list } };
      try {
        const { matchedCount } = await organisations.updateOne({ _id: id }, change);
        return matchedCount === 1 ? { ok: true } : { ok: false, reason: 'not_found' };
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        return namespaceConflict(organisations, namespaces, id, error);
      }
    },
  };
}

/**
 * Finds the first of `namespaces` that an organisation other than `id` has.
 * @throws `duplicate` if there is none: the other organisation has released it since
 */
async function namespaceConflict(
  organisations: Collection<OrganisationDocument>,
  namespaces: readonly string[],
  id: string,
  duplicate: unknown,
): Promise<NamespaceTaken> {
  const other = await organisations.findOne({ namespaces: { $in: [...namespaces] }, _id: { $ne: id } });
  const namespace = namespaces.find((one) => other?.namespaces?.includes(one));
  if (other === null || namespace === undefined) throw duplicate;
  return { ok: false, reason: 'namespace_taken', namespace, organisation: other._id };
}

function listed(namespaces: readonly string[]): { namespaces?: string[] } {
  return namespaces.length === 0 ? {} : { namespaces: [...new Set(namespaces)] };
}
