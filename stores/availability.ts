/** Distinguishes a dependency that is down (the API responds with 503) from a bug (500). */

/**
 * Returns true if every connection of this process's pool was in use for too long. The server may be well: it is this process
 * that has too much to do.
 */
export function poolIsExhausted(error: unknown): boolean {
  return error instanceof Error && error.name === 'MongoWaitQueueTimeoutError';
}

/** Codes of the system and of undici for "no connection" or "no response". */
const NETWORK_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/** Names of such errors in the MongoDB driver and the AWS SDK, and of time-outs. */
const NETWORK_NAMES: ReadonlySet<string> = new Set([
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoServerSelectionError',
  'MongoPoolClearedError',
  'PoolClearedOnNetworkError',
  'MongoWaitQueueTimeoutError',
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoPoolClosedError',
  'MongoServerClosedError',
  'MongoClientClosedError',
  'MongoOperationTimeoutError',
  'TimeoutError',
]);

/**
 * Error codes of a MongoDB server that is unavailable.
 * - The host: unreachable, not found, network time-out, closed socket
 * - The server: shutting down, interrupted, no longer or not primary, no primary
 * - Time-outs of write concern and locks
 */
const UNAVAILABLE_MONGO_CODES: ReadonlySet<number> = new Set([6, 7, 24, 64, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);

/** Whether an HTTP status means that the dependency is running but cannot serve requests now. */
const unavailableStatus = (status: unknown): boolean => typeof status === 'number' && (status === 429 || status >= 500);

interface ErrorFields {
  name?: unknown;
  code?: unknown;
  cause?: unknown;
  errors?: unknown;
  /** In an error of a bulk write: the driver's error if there was no answer, without `cause`. */
  errorResponse?: unknown;
  $metadata?: { httpStatusCode?: unknown };
}

/**
 * Returns true if the error means that MongoDB, the object store or the Kubernetes API is unavailable, and false for
 * refusals and bugs, which a retry does not change. Also examines causes and aggregated errors.
 */
export function dependencyIsDown(error: unknown): boolean {
  return isDown(error, 0);
}

function isDown(error: unknown, depth: number): boolean {
  // The depth is limited because a chain of causes may be circular.
  if (!(error instanceof Error) || depth > 8) return false;
  const { name, code, cause, errors, errorResponse, $metadata } = error as ErrorFields;
  if (typeof name === 'string' && NETWORK_NAMES.has(name)) return true;
  if (typeof code === 'string' && NETWORK_CODES.has(code)) return true;
  if (name === 'KubernetesError' && unavailableStatus(code)) return true;
  if (name !== 'KubernetesError' && typeof code === 'number' && UNAVAILABLE_MONGO_CODES.has(code)) return true;
  if (unavailableStatus($metadata?.httpStatusCode)) return true;
  if (Array.isArray(errors) && errors.some((one) => isDown(one, depth + 1))) return true;
  return isDown(cause, depth + 1) || isDown(errorResponse, depth + 1);
}
