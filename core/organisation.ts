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
  /** Kubernetes namespaces. The organisation is charged for their manifests. */
  namespaces: string[];
  createdAt: Date;
  /** The only writer that may change it. `hand-over` changes the writer. */
  managedBy: ManagedBy;
  /** When its Organisation resource was deleted. It is blocked since then; it can be restored or purged. */
  deletedAt: Date | null;
}
