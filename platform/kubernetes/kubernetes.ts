/**
 * One pooled connection to a Kubernetes API: raw JSON in and out, over one keep-alive agent (`connectKubernetes` in
 * `kubernetes-connection.ts` opens it). The typed classes of `@kubernetes/client-node` are not used, for they open a TLS
 * connection a request and turn times into Dates; `kubernetes-config.ts` says why its KubeConfig is not either.
 */

/** The path of a resource's collection, or of one object in it. */
export interface ResourceType {
  /** Empty for the core group. */
  group: string;
  version: string;
  plural: string;
}

/** The API server's refusal, as its `Status` object says it. */
export class KubernetesError extends Error {
  readonly code: number;
  readonly reason: string;
  /** Seconds that the server asks to wait, if it does. */
  readonly retryAfterSeconds: number | null;
  constructor(code: number, reason: string, message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.name = 'KubernetesError';
    this.code = code;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A watch on which not a byte came for longer than it may: its connection is taken for dead. */
export class WatchIdleError extends Error {
  constructor(path: string, idleMs: number) {
    super(`nothing came on the watch of ${path} for ${Math.round(idleMs / 1000)} s`);
    this.name = 'WatchIdleError';
  }
}

export interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  /** Default `application/json`; patches say `application/merge-patch+json` or `application/json-patch+json`. */
  contentType?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** One line of a watch. */
export interface WatchEvent<T = unknown> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T;
}

export interface KubernetesConnection {
  /** The namespace that the kubeconfig or the service account names; `default` where neither does. */
  readonly namespace: string;
  /** `/api/v1/…` or `/apis/<group>/<version>/…`, escaped. */
  path(type: ResourceType, namespace?: string, name?: string, subresource?: string): string;
  /** @throws KubernetesError on a refusal; other errors where the server cannot be reached */
  request<T>(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, options?: RequestOptions): Promise<T>;
  /** Opens a watch; the iteration ends when the server closes it, and throws when the connection breaks or `idleMs` pass without a byte. */
  watch<T>(
    path: string,
    options: { query: Record<string, string | number | boolean | undefined>; signal: AbortSignal; idleMs: number },
  ): AsyncIterable<WatchEvent<T>>;
  close(): Promise<void>;
}
