/** The KnownIssues resource (`crds/knownissues.yaml`): violations of one site that are accepted until a date. */
import { Type, type Static } from 'typebox';
import { KNOWN_ISSUE_FIELDS, KNOWN_ISSUES_MAX, SITE_MAX } from '../scan/known-issues.ts';
import type { Condition, KubernetesObject } from './custom-resources.ts';

export const KNOWN_ISSUES_KIND = 'KnownIssues';
export const KNOWN_ISSUES_PLURAL = 'knownissues';

/** A known issue of a manifest. It has `fingerprint`, or `rule` and `selector`; see `targetMistake`. */
export const DeclaredKnownIssue = Type.Object(
  {
    /** Names it in the status. Default: see `labelOf`. */
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    ...KNOWN_ISSUE_FIELDS,
    /** RFC 3339; see `readDateTime`. From then on it counts as a violation again. */
    expiresAt: Type.String({ maxLength: 40 }),
  },
  { additionalProperties: false },
);
export type DeclaredKnownIssue = Static<typeof DeclaredKnownIssue>;

export const KnownIssuesSpec = Type.Object(
  {
    /** The operator class, as in an AccessibilityScan. Immutable. */
    class: Type.Optional(Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' })),
    /** See `readSite`. */
    site: Type.String({ minLength: 1, maxLength: SITE_MAX }),
    issues: Type.Array(DeclaredKnownIssue, { maxItems: KNOWN_ISSUES_MAX }),
  },
  { additionalProperties: false },
);
export type KnownIssuesSpec = Static<typeof KnownIssuesSpec>;

/** The largest number of known issues that a list of the status names, and the length of a name in it. `maxItems` and `maxLength` in the custom resource definition. */
export const NAMES_LISTED_MAX = 20;
export const NAME_LISTED_MAX = 200;

export interface KnownIssuesStatus {
  observedGeneration?: number;
  /** The organisation for whose scans they are in effect. */
  organisation?: string;
  /** The numbers of known issues in the spec; and of those in effect, those of them that end soon or matched nothing, and those that have ended. */
  issues?: number;
  live?: number;
  ending?: number;
  stale?: number;
  expired?: number;
  endingNames?: string[];
  staleNames?: string[];
  /** The scan that says which are stale. */
  lastScanId?: string;
  conditions?: Condition[];
}

export interface KnownIssuesResource extends KubernetesObject {
  spec: KnownIssuesSpec;
  status?: KnownIssuesStatus;
}

/** The name of a known issue, as users read it. */
export function labelOf({ name, fingerprint, rule, selector }: DeclaredKnownIssue): string {
  const label = name ?? fingerprint ?? `${rule} ${selector}`;
  return label.length > NAME_LISTED_MAX ? `${label.slice(0, NAME_LISTED_MAX - 1)}…` : label;
}
