/** Organisations and the namespaces that are charged to them. */
import type { Db } from 'mongodb';
import { ANONYMOUS, type ManagedBy, type Organisation } from '../../core/organisation.ts';
import { isDuplicate } from '../mongo-retry.ts';
import { createAuditLog, type AuditLog } from './audit.ts';
import {
  checkId,
  listed,
  namespaceConflict,
  replaceNamespaces,
  toOrganisation,
  type NamespaceTaken,
  type OrganisationDocument,
} from './organisation-document.ts';
import { createManifestWriter, type ManifestWriter } from './organisation-manifests.ts';

type NotFound = { ok: false; reason: 'not_found' };
/** Only its Organisation resource may change the organisation. */
type ManagedByManifest = { ok: false; reason: 'managed_by_manifest' };
export type AddedOrganisation = { ok: true; organisation: Organisation } | { ok: false; reason: 'already_exists' } | NamespaceTaken;
export type ChangedOrganisation = { ok: true } | NotFound | ManagedByManifest;
export type ChangedNamespaces = ChangedOrganisation | NamespaceTaken;
/** `changed` is false if it had this writer before. */
export type HandedOver = { ok: true; changed: boolean; organisation: Organisation } | NotFound;

/** Reads, and the changes of `curbcut-admin`, which apply only to organisations that it manages. */
export interface Organisations extends AuditLog, ManifestWriter {
  /** @throws RangeError if the id is not a DNS label */
  add(organisation: Pick<Organisation, 'id' | 'displayName' | 'plan' | 'namespaces'>): Promise<AddedOrganisation>;
  find(id: string): Promise<Organisation | null>;
  /** Returns the organisation that is charged for manifests in a Kubernetes namespace, or null if there is none. */
  findByNamespace(namespace: string): Promise<Organisation | null>;
  list(): Promise<Organisation[]>;
  setBlocked(id: string, blocked: boolean): Promise<ChangedOrganisation>;
  /** Whoever the writer is: the manifest does not have this setting. @returns false if there is no such organisation */
  setRequireSecondFactor(id: string, required: boolean): Promise<boolean>;
  /** Replaces the namespaces that are charged to an organisation. */
  setNamespaces(id: string, namespaces: string[]): Promise<ChangedNamespaces>;
  /** Makes a writer the only one. An organisation whose resource was deleted stays blocked. */
  handOver(id: string, to: ManagedBy): Promise<HandedOver>;
}

/** Organisations and their audit log in MongoDB. */
export function createOrganisations(db: Db, { now = () => new Date() }: { now?: () => Date } = {}): Organisations {
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

    async add({ id, displayName, plan, namespaces }) {
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

    setBlocked: (id, blocked) => change(id, { $set: { blocked } }),

    async setRequireSecondFactor(id, requireSecondFactor) {
      return (await organisations.updateOne({ _id: id }, { $set: { requireSecondFactor } })).matchedCount === 1;
    },

    async setNamespaces(id, namespaces) {
      try {
        return await change(id, replaceNamespaces(namespaces));
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        return namespaceConflict(organisations, namespaces, id, error);
      }
    },

    async handOver(id, to) {
      const from = to === 'manifest' ? { $ne: 'manifest' as const } : ('manifest' as const);
      const update = { $set: { managedBy: to }, $unset: { manifest: '', deletedAt: '', webhooks: '' } } as const;
      const changed = await organisations.findOneAndUpdate({ _id: id, managedBy: from }, update, { returnDocument: 'after' });
      const document = changed ?? (await organisations.findOne({ _id: id }));
      if (document === null) return { ok: false, reason: 'not_found' };
      return { ok: true, changed: changed !== null, organisation: toOrganisation(document) };
    },
  };
}
