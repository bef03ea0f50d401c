/** Who is charged, and what a key is. */

/** The built-in organisation of public scans: it cannot hold keys and needs no credits. */
export const ANONYMOUS = 'anonymous';

/** Organisation ids are DNS labels, so that they fit a NATS subject, a label and an object's name. */
export const ORGANISATION_ID = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export interface Organisation {
  id: string;
  displayName: string;
  plan: string;
  blocked: boolean;
  /** Kubernetes namespaces whose manifests are charged to it. */
  namespaces: string[];
  createdAt: Date;
}

/** Who asks: a live API key of an organisation. */
export interface Caller {
  organisation: Organisation;
  keyId: string;
}
