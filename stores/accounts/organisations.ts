/** Organisations and the namespaces that are charged to them. */
import type { Db } from 'mongodb';
import { ANONYMOUS, type ManagedBy, type Organisation, type Tracker } from '../../core/organisation.ts';
import { isDuplicate } from '../mongo-retry.ts';
import { createAuditLog } from './audit.ts';
import {
  checkId,
  listed,
  namespaceConflict,
  replaceNamespaces,
  toOrganisation,
  type NamespaceTaken,
  type OrganisationDocument,
} from './organisation-document.ts';
import { createManifestWriter } from './organisation-manifests.ts';

type NotFound = { ok: false; reason: 'not_found' };
/** Only its Organisation resource may change the organisation. */
type ManagedByManifest = { ok: false; reason: 'managed_by_manifest' };
export type AddedOrganisation = { ok: true; organisation: Organisation } | { ok: false; reason: 'already_exists' } | NamespaceTaken;
export type ChangedOrganisation = { ok: true } | NotFound | ManagedByManifest;
export type ChangedNamespaces = ChangedOrganisation | NamespaceTaken;
/** `changed` is false if it had this writer before. */
export type HandedOver = { ok: true; changed: boolean; organisation: Organisation } | NotFound;

/** Organisations and their audit log. The changes of `curbcut-admin` apply only to organisations that it manages. */
export function createOrganisations(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const organisations = db.collection<OrganisationDocument>('organisations');

  /** Changes an organisation that `curbcut-admin` manages, in one guarded update. */
  async function change(id: string, update: Parameters<typeof organisations.updateOne>[1]): Promise<ChangedOrganisation> {
    const { matchedCount } = await organisations.updateOne({ _id: id, managedBy: 'admin' }, update);
    if (matchedCount === 1) return { ok: true };
    return { ok: false, reason: (await organisations.findOne({ _id: id })) === null ? 'not_found' : 'managed_by_manifest' };
  }

  return {
    ...createAuditLog(db, now),
    ...createManifestWriter(organisations, now),

    /** @throws RangeError if the id is not a DNS label */
    async add({
      id,
      displayName,
      plan,
      namespaces,
    }: Pick<Organisation, 'id' | 'displayName' | 'plan' | 'namespaces'>): Promise<AddedOrganisation> {
      checkId(id);
      if (id === ANONYMOUS) return { ok: false, reason: 'already_exists' };
      const document: OrganisationDocument = {
        _id: id,
        displayName,
        plan,
        blocked: false,
        createdAt: now(),
        managedBy: 'admin',
        ...listed(namespaces),
      };
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

    async find(id: string): Promise<Organisation | null> {
      const document = await organisations.findOne({ _id: id });
      return document && toOrganisation(document);
    },

    /** Returns the organisation that is charged for manifests in a Kubernetes namespace, or null if there is none. */
    async findByNamespace(namespace: string): Promise<Organisation | null> {
      const document = await organisations.findOne({ namespaces: namespace });
      return document && toOrganisation(document);
    },

    async list(): Promise<Organisation[]> {
      return (await organisations.find().sort({ _id: 1 }).toArray()).map(toOrganisation);
    },

    setBlocked: (id: string, blocked: boolean) => change(id, { $set: { blocked } }),

    /** Whoever the writer is: the manifest does not have this setting. @returns false if there is no such organisation */
    async setRequireSecondFactor(id: string, requireSecondFactor: boolean): Promise<boolean> {
      return (await organisations.updateOne({ _id: id }, { $set: { requireSecondFactor } })).matchedCount === 1;
    },

    /** Whoever the writer is, as above. @param tracker null: none */
    setTracker: (id: string, tracker: Tracker | null) =>
      organisations.updateOne({ _id: id }, tracker === null ? { $unset: { tracker: '' } } : { $set: { tracker } }),

    /** Replaces the namespaces that are charged to an organisation. */
    async setNamespaces(id: string, namespaces: string[]): Promise<ChangedNamespaces> {
      try {
        return await change(id, replaceNamespaces(namespaces));
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        return namespaceConflict(organisations, namespaces, id, error);
      }
    },

    /** Makes a writer the only one. An organisation whose resource was deleted stays blocked. */
    async handOver(id: string, to: ManagedBy): Promise<HandedOver> {
      const from = to === 'manifest' ? { $ne: 'manifest' as const } : ('manifest' as const);
      const update = { $set: { managedBy: to }, $unset: { manifest: '', deletedAt: '', webhooks: '' } } as const;
      const changed = await organisations.findOneAndUpdate({ _id: id, managedBy: from }, update, { returnDocument: 'after' });
      const document = changed ?? (await organisations.findOne({ _id: id }));
      if (document === null) return { ok: false, reason: 'not_found' };
      return { ok: true, changed: changed !== null, organisation: toOrganisation(document) };
    },
  };
}
export type Organisations = ReturnType<typeof createOrganisations>;
