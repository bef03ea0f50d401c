/** Organisations as MongoDB holds them, and what both of their writers need. */
import type { Collection } from 'mongodb';
import { ORGANISATION_ID, type Organisation } from '../../core/organisation.ts';

/** `organisation` is the one that has the namespace. */
export type NamespaceTaken = { ok: false; reason: 'namespace_taken'; namespace: string; organisation: string };

/** Orders the versions of the Organisation resources of one name. */
export interface ManifestVersion {
  uid: string;
  createdAt: Date;
  /** Grows with every change of the spec and with the deletion. */
  generation: number;
}

/** `namespaces` is absent instead of empty, because the unique index treats two empty arrays as duplicates. */
export type OrganisationDocument = Omit<Organisation, 'id' | 'namespaces' | 'deletedAt' | 'requireSecondFactor'> & {
  _id: string;
  namespaces?: string[];
  deletedAt?: Date;
  /** Absent: no. */
  requireSecondFactor?: boolean;
  /** The version of the Organisation resource that was applied last. */
  manifest?: ManifestVersion;
};

export function toOrganisation(document: OrganisationDocument): Organisation {
  const {
    _id,
    displayName,
    plan,
    blocked,
    requireSecondFactor = false,
    tracker,
    namespaces = [],
    createdAt,
    managedBy,
    deletedAt = null,
  } = document;
  const settings = { requireSecondFactor, ...(tracker && { tracker }) };
  return { id: _id, displayName, plan, blocked, ...settings, namespaces, createdAt, managedBy, deletedAt };
}

/** Matches a webhook that no newer version of the manifest has written: its `manifest` is absent, this version or an older one. */
export function notNewer({ uid, createdAt, generation }: ManifestVersion) {
  return {
    $or: [
      { manifest: { $exists: false } },
      { 'manifest.uid': uid, 'manifest.generation': { $lte: generation } },
      { 'manifest.uid': { $ne: uid }, 'manifest.createdAt': { $lte: createdAt } },
    ],
  };
}

/**
 * Matches an organisation that this version of its manifest may write: no newer one was applied, and no other object of the name. An
 * object of another uid may be another tenant's. `curbcut-admin organisation restore` and `hand-over` let the next object have it.
 */
export function ofVersion({ uid, generation }: ManifestVersion) {
  return { $or: [{ manifest: { $exists: false } }, { 'manifest.uid': uid, 'manifest.generation': { $lte: generation } }] };
}

/** @throws RangeError if the id is not a DNS label */
export function checkId(id: string): void {
  if (!ORGANISATION_ID.test(id))
    throw new RangeError(`the id of an organisation must be a DNS label (a-z, 0-9, -), not ${JSON.stringify(id)}`);
}

/** The update that replaces the namespaces of an organisation. */
export function replaceNamespaces(namespaces: readonly string[]) {
  const { namespaces: list } = listed(namespaces);
  return list === undefined ? { $unset: { namespaces: '' } as const } : { $set: { namespaces: list } };
}

/**
 * Finds the first of `namespaces` that an organisation other than `id` has.
 * @throws `duplicate` if there is none: the other organisation has released it since
 */
export async function namespaceConflict(
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

/** Without repeats, and absent if empty. */
export function listed(namespaces: readonly string[]): { namespaces?: string[] } {
  return namespaces.length === 0 ? {} : { namespaces: [...new Set(namespaces)] };
}
