/**
 * The changes that the operator makes to organisations for their Organisation resources. Each is one guarded update, which
 * applies only while the organisation is managed by its manifest and has not seen a newer version of it. So neither
 * `curbcut-admin` nor a former leader of the operator can win against the manifest, or the manifest against them.
 */
import type { Collection, UpdateFilter } from 'mongodb';
import { ANONYMOUS, type Organisation } from '../../core/organisation.ts';
import { insertNew, isDuplicate } from '../mongo-retry.ts';
import {
  checkId,
  namespaceConflict,
  ofVersion,
  replaceNamespaces,
  toOrganisation,
  type ManifestVersion,
  type NamespaceTaken,
  type OrganisationDocument,
} from './organisation-document.ts';

/** An organisation, and the version of its resource that was applied last; null if there is none. */
export interface AppliedOrganisation extends Organisation {
  manifest: ManifestVersion | null;
}

export type ManifestRefusal =
  | { ok: false; reason: 'managed_by_admin' }
  /** A newer version was applied before. */
  | { ok: false; reason: 'outdated' }
  /** The organisation belongs to another object of this name. */
  | { ok: false; reason: 'name_in_use' };

/** `before` is null if the organisation is new. */
export type AppliedManifest = { ok: true; before: Organisation | null } | ManifestRefusal;

export function createManifestWriter(organisations: Collection<OrganisationDocument>, now: () => Date) {
  type Changes = UpdateFilter<OrganisationDocument>;

  /** Runs an update if the version is not outdated. @returns null if there is no such organisation */
  async function update(id: string, version: ManifestVersion, { $set, ...changes }: Changes): Promise<AppliedManifest | null> {
    const guarded = { ...changes, $set: { ...$set, manifest: version } };
    const before = await organisations.findOneAndUpdate({ _id: id, managedBy: 'manifest', ...ofVersion(version) }, guarded, {
      returnDocument: 'before',
    });
    if (before !== null) return { ok: true, before: toOrganisation(before) };
    const current = await organisations.findOne({ _id: id });
    if (current === null) return null;
    if (current.managedBy !== 'manifest') return { ok: false, reason: 'managed_by_admin' };
    return { ok: false, reason: current.manifest?.uid === version.uid ? 'outdated' : 'name_in_use' };
  }

  return {
    /**
     * Creates or updates an organisation, except for its namespaces.
     * @throws RangeError if the id is not a DNS label, or reserved
     */
    async applyManifest(
      id: string,
      version: ManifestVersion,
      { displayName, plan, blocked }: Pick<Organisation, 'displayName' | 'plan' | 'blocked'>,
    ): Promise<AppliedManifest> {
      checkId(id);
      if (id === ANONYMOUS) throw new RangeError(`${ANONYMOUS} is the built-in organisation of public scans`);
      const spec = { displayName, plan, blocked };
      const updated = await update(id, version, { $set: spec, $unset: { deletedAt: '' } });
      if (updated !== null) return updated;
      const document = { _id: id, ...spec, createdAt: now(), managedBy: 'manifest', manifest: version } as const;
      if (await insertNew(organisations, document)) return { ok: true, before: null };
      // Another writer was faster. An organisation is never removed.
      return (await update(id, version, { $set: spec, $unset: { deletedAt: '' } }))!;
    },

    /** Replaces the namespaces that are charged to an organisation, all or none. */
    async claimNamespaces(id: string, version: ManifestVersion, namespaces: readonly string[]): Promise<AppliedManifest | NamespaceTaken> {
      try {
        return (await update(id, version, replaceNamespaces(namespaces))) ?? { ok: false, reason: 'outdated' };
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        return namespaceConflict(organisations, namespaces, id, error);
      }
    },

    /** Records that this version is being applied, so that no older one is. */
    async recordVersion(id: string, version: ManifestVersion): Promise<AppliedManifest> {
      return (await update(id, version, {})) ?? { ok: false, reason: 'outdated' };
    },

    /** The resource is being deleted: blocks the organisation and marks it as deleted. */
    async closeOrganisation(id: string, version: ManifestVersion): Promise<AppliedManifest> {
      return (await update(id, version, { $set: { blocked: true, deletedAt: now() } })) ?? { ok: true, before: null };
    },

    /**
     * Lets the next resource of the name have the organisation, whatever its uid. It stays blocked until then if it was deleted.
     * @returns whether a manifest manages such an organisation
     */
    async restore(id: string): Promise<boolean> {
      const { matchedCount } = await organisations.updateOne(
        { _id: id, managedBy: 'manifest' },
        { $unset: { manifest: '', deletedAt: '' } },
      );
      return matchedCount === 1;
    },

    /** Returns those of the organisations that exist, and those that have one of the namespaces, in one command. */
    async findApplied(ids: readonly string[], namespaces: readonly string[]): Promise<AppliedOrganisation[]> {
      if (ids.length === 0 && namespaces.length === 0) return [];
      const wanted = { $or: [{ _id: { $in: [...ids] } }, { namespaces: { $in: [...namespaces] } }] };
      // One batch, so that the number of commands does not grow with that of organisations.
      const found = organisations.find(wanted, { batchSize: ids.length + namespaces.length + 1 });
      return (await found.toArray()).map((document) => ({ ...toOrganisation(document), manifest: document.manifest ?? null }));
    },
  };
}
