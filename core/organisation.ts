/** Organisations, which are charged for scans, and the callers that act for them. */

/** The built-in organisation of public scans. It cannot have keys and needs no credits. */
export const ANONYMOUS = 'anonymous';

/** Organisation ids are DNS labels, so that they fit a NATS subject, a label and an object's name. */
export const ORGANISATION_ID = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export interface Organisation {
  id: string;
  displayName: string;
  plan: string;
  blocked: boolean;
  /** Kubernetes namespaces. The organisation is charged for their manifests. */
  namespaces: string[];
  createdAt: Date;
}

/** The sender of a request: an organisation, and its valid API key. */
export interface Caller {
  organisation: Organisation;
  keyId: string;
}
