/**
 * The interface of the connection to a Kubernetes API: raw JSON in and out. `connectKubernetes` in `connection.ts` opens
 * one. This file imports no package, so that code that needs only the errors and types does not load the client.
 */
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
/** The path of a resource's collection, or of one object in it. */
export interface ResourceType {
  /** Empty for the core group. */
  group: string;
  version: string;
  plural: string;
}

/** The API server refused a request; the fields are those of its `Status` object. */
export class KubernetesError extends Error {
  readonly code: number;
  readonly reason: string;
  /** Seconds that the server asks to wait; null if it does not ask. */
  readonly retryAfterSeconds: number | null;
  constructor(code: number, reason: string, message: string, retryAfterSeconds: number | null = null) {
    super(message);
    this.name = 'KubernetesError';
    this.code = code;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Whether the API server has no such object. Compares the reason, because the code is also 404 if the custom resource definition is missing. */
export const isNotFound = (error: unknown): error is KubernetesError => error instanceof KubernetesError && error.reason === 'NotFound';

/** Whether the API server has answered with one of these codes. */
export const hasCode = (error: unknown, ...codes: number[]): error is KubernetesError =>
  error instanceof KubernetesError && codes.includes(error.code);

/** Whether the API server does not permit a request. */
export const isForbidden = (error: unknown): boolean => hasCode(error, 403);

/** Whether the API server found the request itself wrong, such as by its schema, a quota or a policy, so that a retry does not help. */
export const isRejection = (error: unknown): error is KubernetesError => hasCode(error, 400, 403, 422);

/** What the API server says of a denial by an admission webhook or a policy, which choose its code. */
const DENIED = /^admission webhook ".*" denied the request|ValidatingAdmissionPolicy '.*denied request/;

/** Whether a right, a quota or a policy of the cluster forbids a request, so that an administrator can permit it. */
export const isForbiddenByCluster = (error: unknown): boolean => isForbidden(error) || (isRejection(error) && DENIED.test(error.message));

/** No byte arrived on a watch for longer than allowed: its connection counts as dead. */
export class WatchIdleError extends Error {
  constructor(path: string, idleMs: number) {
    super(`nothing arrived on the watch of ${path} for ${Math.round(idleMs / 1000)} s`);
    this.name = 'WatchIdleError';
  }
}

/**
 * What a socket to the API server is used for. Each use has sockets of its own:
 * - `requests`, at most 64: a burst waits, and does not open hundreds
 * - `lists`, at most 16: a thousand lists at a start neither delay a request nor flood the server
 * - `watches`, without a limit: one for each, or over HTTP/2 one for as many as the server allows, usually 100
 * - `heartbeats`, without a limit: the lease and the readiness probe, which must never wait for a socket
 */
export const SOCKET_USES = ['requests', 'lists', 'watches', 'heartbeats'] as const;
export type SocketUse = (typeof SOCKET_USES)[number];

export interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  /** Default `application/json`; for patches `application/merge-patch+json`. */
  contentType?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
  /** The sockets to send it over. Default `requests`. */
  sockets?: SocketUse;
}

/** One line of a watch. */
export interface WatchEvent<T = unknown> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T;
}

export interface KubernetesConnection {
  /** The namespace of the kubeconfig's context or of the service account; `default` if neither has one. */
  readonly namespace: string;
  /** `/api/v1/…` or `/apis/<group>/<version>/…`, escaped. */
  path(type: ResourceType, namespace?: string, name?: string, subresource?: string): string;
  /** @throws KubernetesError if the server refuses; other errors if it cannot be reached */
  request<T>(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, options?: RequestOptions): Promise<T>;
  /** Opens a watch. The iteration ends when the server closes it, and throws when the connection breaks or no byte arrives for `idleMs`. */
  watch<T>(
    path: string,
    options: { query: Record<string, string | number | boolean | undefined>; signal: AbortSignal; idleMs: number },
  ): AsyncIterable<WatchEvent<T>>;
  close(): Promise<void>;
}

/** Reads an object. @returns null if it does not exist, or its resource definition does not */
export async function readIfThere<T>(
  connection: Pick<KubernetesConnection, 'request'>,
  path: string,
  options?: RequestOptions,
): Promise<T | null> {
  try {
    return await connection.request<T>('GET', path, options);
  } catch (error) {
    if (hasCode(error, 404)) return null;
    throw error;
  }
}

/** A model of `@kubernetes/client-node` as the API server sends and receives it: times are RFC 3339 strings instead of Dates. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Field in keyof T]: Wire<T[Field]> }
      : T;

/** A complete object of a model. The kind and metadata, which the models declare as optional, are required. */
export type ObjectOf<Model> = KubernetesObject & Omit<Wire<Model>, keyof KubernetesObject>;
