/** The Organisation resource (`crds/organisations.yaml`), cluster-scoped. Its name is the ID of the organisation. */
import type { WebhookEvent, WebhookFormat } from '../webhooks/webhooks.ts';
import type { Condition, KubernetesObject } from './custom-resources.ts';

/** Delays the deletion of an Organisation until none of its scans is live. */
export const ORGANISATION_FINALIZER = 'curbcut.dev/organisation';

export interface CreditGrant {
  /** Each ID is granted once, ever, also if the resource is deleted and applied again. */
  id: string;
  pages: number;
}

export interface OrganisationSpec {
  /** The operator class, as in an AccessibilityScan. Immutable. */
  class?: string;
  displayName?: string;
  plan?: string;
  blocked?: boolean;
  creditGrants?: CreditGrant[];
  /** The namespaces whose manifests are charged to the organisation. */
  namespaces?: string[];
  webhooks?: DeclaredWebhookSpec[];
}

/** A webhook of the manifest. Its name is unique among them. */
export interface DeclaredWebhookSpec {
  name: string;
  url: string;
  events: WebhookEvent[];
  format?: WebhookFormat;
  creditsBelow?: number;
  /** A Secret in the namespace of the release. Default of `key`: `secret`. */
  secretRef: { name: string; key?: string };
}

export interface OrganisationStatus {
  observedGeneration?: number;
  /** Credits that can be reserved now, that live scans hold, that were spent, and that were ever granted. */
  balance?: number;
  held?: number;
  spent?: number;
  granted?: number;
  /** The number of scans that hold credits. */
  liveScans?: number;
  /** The namespaces that are charged to it now. */
  namespaces?: string[];
  conditions?: Condition[];
}

export interface OrganisationResource extends KubernetesObject {
  spec: OrganisationSpec;
  status?: OrganisationStatus;
}
