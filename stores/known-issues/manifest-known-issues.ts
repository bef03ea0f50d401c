/** The known issues of manifests. The operator alone writes them; one document has those of a manifest. */
import type { Collection, WithoutId } from 'mongodb';
import { claimKey, KNOWN_ISSUES_MAX, type KnownIssueTarget } from '../../core/scan/known-issues.ts';
import { deleteEach, isDuplicate } from '../mongo-retry.ts';
import { freeSlots } from '../slots.ts';
import {
  declaredId,
  documentId,
  MANIFEST_ACTOR,
  rowsOf,
  targetClaim,
  type Declaration,
  type IssueDocument,
  type KnownIssueDocument,
  type KnownIssueRow,
  type ManifestDocument,
  type ManifestRef,
} from './documents.ts';

export { MANIFEST_ACTOR, type Declaration, type DeclaredIssue, type ManifestRef } from './documents.ts';

/** The ID that a known issue of a manifest has in reports and lists. */
export const declaredIssueId = (manifest: ManifestRef, target: KnownIssueTarget): string => declaredId(documentId(manifest), target);

export interface StoredDeclaration extends Declaration {
  /** Grows with each write. */
  revision: number;
  /** How many of the known issues had not ended at the last write. */
  live: number;
}

/** What other writers have of a site. Ended known issues take nothing. */
export interface OccupiedSite {
  /** By `claimKey`. */
  holders: ReadonlyMap<string, KnownIssueRow>;
  /** The number of known issues that the site can have besides. */
  free: number;
}

function storedOf(document: ManifestDocument): StoredDeclaration {
  const { _id, manifest, createdBy: _, slots: __, targets = [], ...rest } = document;
  return { ...manifest, ...rest, live: targets.length };
}

/** Whether nobody else can have what a known issue is about. One over REST gives way when it has ended. */
const holds = (document: KnownIssueDocument, row: KnownIssueRow, now: Date): boolean =>
  document.manifest === undefined ? row.expiresAt > now : (document.targets ?? []).includes(targetClaim(row.organisation, row.site, row));

/** @param single the documents that are not of manifests, in the same collection */
export function createManifestKnownIssues(manifests: Collection<ManifestDocument>, single: Collection<IssueDocument>) {
  /** @returns null if there are too few */
  async function slotsOf({ organisation, site }: Declaration, _id: string, wanted: number): Promise<string[] | null> {
    const others = await manifests.find({ organisation, site, _id: { $ne: _id } }, { projection: { slots: 1 } }).toArray();
    const taken = others.flatMap(({ slots = [] }) => slots);
    const free = freeSlots(`${organisation}/${site}`, KNOWN_ISSUES_MAX, taken);
    return free.length < wanted ? null : free.slice(0, wanted);
  }

  return {
    /** Returns what is stored of a manifest; null if nothing is. */
    async declared(manifest: ManifestRef): Promise<StoredDeclaration | null> {
      const found = await manifests.findOne({ _id: documentId(manifest) });
      return found && storedOf(found);
    },

    /** Returns what others than the manifest have of a site. */
    async occupied(organisation: string, site: string, manifest: ManifestRef, now: Date): Promise<OccupiedSite> {
      const others: KnownIssueDocument[] = await manifests.find({ organisation, site, _id: { $ne: documentId(manifest) } }).toArray();
      const holding = others.flatMap((document) => rowsOf(document).filter((row) => holds(document, row, now)));
      const taken = others.reduce((sum, { slots = [] }) => sum + slots.length, 0);
      return { holders: new Map(holding.map((row) => [claimKey(row), row])), free: KNOWN_ISSUES_MAX - taken };
    },

    /**
     * Stores the known issues of a manifest in one write: a scan that starts at the same time has those of before or these.
     * @param before the revision that they replace; null if nothing is stored
     * @returns false if another writer was faster
     */
    async declare({ operatorClass, namespace, name, ...rest }: Declaration, before: number | null, now: Date): Promise<boolean> {
      const manifest = { operatorClass, namespace, name };
      const _id = documentId(manifest);
      const { organisation, site, issues } = rest;
      const targets = issues.filter(({ expiresAt }) => expiresAt > now).map((issue) => targetClaim(organisation, site, issue));
      await deleteEach(single, { targets: { $in: targets }, manifest: { $exists: false }, expiresAt: { $lte: now } });
      const slots = await slotsOf({ ...manifest, ...rest }, _id, targets.length);
      if (slots === null) return false;
      // Without claims there are no fields: a unique index compares empty lists.
      const claims = targets.length === 0 ? {} : { slots, targets };
      const document: WithoutId<ManifestDocument> = {
        ...rest,
        ...claims,
        manifest,
        createdBy: MANIFEST_ACTOR,
        revision: (before ?? 0) + 1,
      };
      try {
        if (before !== null) return (await manifests.replaceOne({ _id, revision: before }, document)).matchedCount === 1;
        await manifests.insertOne({ _id, ...document });
        return true;
      } catch (error) {
        if (isDuplicate(error)) return false;
        throw error;
      }
    },

    /** Removes what is stored of a manifest. @returns false if it has another revision */
    async withdraw(manifest: ManifestRef, before: number): Promise<boolean> {
      return (await manifests.deleteOne({ _id: documentId(manifest), revision: before })).deletedCount === 1;
    },

    /** Returns the manifests of an operator class of which something is stored. */
    async declaredOf(operatorClass: string): Promise<ManifestRef[]> {
      const found = manifests.find({ 'manifest.operatorClass': operatorClass }, { projection: { manifest: 1 } });
      return (await found.toArray()).map(({ manifest }) => manifest);
    },
  };
}
