/**
 * The documents of known issues. One over REST or from the dashboard is a document. Those of a manifest are one document, so that one
 * write replaces them all. Pure.
 */
import { createHash } from 'node:crypto';
import { claimKey, type KnownIssue, type KnownIssueExample, type KnownIssueTarget } from '../../core/scan/known-issues.ts';

/** A known issue, as users manage it. */
export interface KnownIssueRow extends Omit<KnownIssue, 'expiresAt'> {
  organisation: string;
  /** The host of the site, as `siteOf` returns it. */
  site: string;
  expiresAt: Date;
  /** As the audit log names actors. */
  createdBy: string;
  /** Of a manifest: when the manifest was created. */
  createdAt: Date;
  /** In the scan in which it was accepted. Absent: unknown. */
  example?: KnownIssueExample;
  /** The KnownIssues resource that alone changes it. Null: REST and the dashboard change it. */
  manifest: Pick<ManifestRef, 'namespace' | 'name'> | null;
}

/** Identifies a KnownIssues resource. */
export interface ManifestRef {
  operatorClass: string;
  namespace: string;
  name: string;
}

/** A known issue of a manifest. */
export interface DeclaredIssue extends KnownIssueTarget {
  reason: string;
  owner: string;
  expiresAt: Date;
}

/** The known issues that a manifest declares. */
export interface Declaration extends ManifestRef {
  /** The version of the manifest. */
  uid: string;
  generation: number;
  organisation: string;
  site: string;
  createdAt: Date;
  issues: DeclaredIssue[];
}

/** What others must not have as well: `slots`, the places of the site that it takes, and `targets`, what it is about. */
interface Claims {
  slots?: string[];
  targets?: string[];
}

export type IssueDocument = Omit<KnownIssueRow, 'id' | 'manifest'> & Claims & { _id: string; manifest?: undefined };
/** `revision` grows with each write. Ended known issues claim nothing. */
export type ManifestDocument = Omit<Declaration, keyof ManifestRef> &
  Claims & { _id: string; createdBy: string; revision: number; manifest: ManifestRef };
export type KnownIssueDocument = IssueDocument | ManifestDocument;

/** The actor of audit log entries. */
export const MANIFEST_ACTOR = 'manifest';

const hexOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** Claims what a known issue is about: one known issue of a site has it. */
export const targetClaim = (organisation: string, site: string, target: KnownIssueTarget): string =>
  `${organisation}/${site}/${hexOf(claimKey(target)).slice(0, 32)}`;

/** The ID of a manifest's document: a UUID that precedes those of its known issues, with the same first half. */
export function documentId({ operatorClass, namespace, name }: ManifestRef): string {
  const hex = hexOf([operatorClass, namespace, name]);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}-8000-000000000000`;
}

/** The document that a known issue of a manifest is in, by its ID. */
export const documentOf = (id: string): string => `${id.slice(0, 18)}-8000-000000000000`;

/** The ID of a known issue of a manifest: the same as long as the manifest is about the same. */
export function declaredId(document: string, target: KnownIssueTarget): string {
  const hex = hexOf(claimKey(target));
  return `${document.slice(0, 18)}-8${hex.slice(0, 3)}-${hex.slice(3, 15)}`;
}

/** The known issues of a document, in the order of lists. */
export function rowsOf(document: KnownIssueDocument): KnownIssueRow[] {
  if (document.manifest === undefined) {
    const { _id: id, slots: _, targets: __, manifest: ___, ...row } = document;
    return [{ id, ...row, manifest: null }];
  }
  const { _id, organisation, site, createdAt, createdBy, issues } = document;
  const { namespace, name } = document.manifest;
  const shared = { organisation, site, createdAt, createdBy, manifest: { namespace, name } };
  return issues.map((issue) => ({ id: declaredId(_id, issue), ...issue, ...shared })).toSorted((a, b) => (a.id < b.id ? 1 : -1));
}
