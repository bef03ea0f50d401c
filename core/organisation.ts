/** Organisations, which are charged for scans. */

/** The built-in organisation of public scans. It cannot have keys and needs no credits. */
export const ANONYMOUS = 'anonymous';

/** Organisation ids are DNS labels, so that they fit a NATS subject, a label and an object's name. */
export const ORGANISATION_ID = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The plan of organisations that name none. The default of `spec.plan` in the custom resource definition. */
export const DEFAULT_PLAN = 'standard';

/** The most pages of one grant of credits. */
export const GRANT_PAGES_MAX = 1_000_000_000;

/** The writers of organisations: the Organisation resource, and `curbcut-admin`. Each organisation has one of them. */
export const MANAGERS = ['manifest', 'admin'] as const;
export type ManagedBy = (typeof MANAGERS)[number];

export interface Organisation {
  id: string;
  displayName: string;
  plan: string;
  blocked: boolean;
  /** Whether its members need a second factor. Its owners decide, and `curbcut-admin`; its manifest does not set it. */
  requireSecondFactor: boolean;
  /** Where its issues are created. Its owners decide. Absent: in the repository of a scan. */
  tracker?: Tracker;
  /** Kubernetes namespaces. The organisation is charged for their manifests. */
  namespaces: string[];
  createdAt: Date;
  /** The only writer that may change it. `hand-over` changes the writer. */
  managedBy: ManagedBy;
  /** When its Organisation resource was deleted. It is blocked since then; it can be restored or purged. */
  deletedAt: Date | null;
}

/** The trackers in which issues can be created: a project on GitHub or GitLab, or one of a Jira site. */
export const TRACKER_KINDS = ['github', 'gitlab', 'jira'] as const;
export type TrackerKind = (typeof TRACKER_KINDS)[number];

/** `url` is an https address without a slash at its end: of the project, or of the Jira site. Jira's own pages have the IDs. */
export type Tracker =
  { kind: Exclude<TrackerKind, 'jira'>; url: string } | { kind: 'jira'; url: string; project: string; issueType: string };

/** Links to a new issue have 8,000 bytes for everything. */
export const TRACKER_URL_MAX = 300;
export const JIRA_ID = /^[1-9]\d{0,18}$/;

/** The address of a project or a site; null if it is none over https, or has credentials. @param kind of which a Jira site has any path */
export function trackerUrl(kind: TrackerKind, address: string): string | null {
  const url = URL.parse(address);
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') return null;
  const path = url.pathname.replace(kind === 'jira' ? /\/+$/ : /(\.git)?\/*$/, '');
  return kind === 'jira' || /^\/[^/]+\/[^/]+/.test(path) ? url.origin + path : null;
}

/** A tracker in one line, as the audit log has it. */
export const trackerText = (tracker: Tracker): string =>
  `${tracker.kind} ${tracker.url}${tracker.kind === 'jira' ? `, project ${tracker.project}, issue type ${tracker.issueType}` : ''}`;
