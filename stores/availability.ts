/** Tells a dependency that is down from a fault of ours, so that the front door answers 503 for the one and 500 for the other. */

/** Errors of the system, and undici's, that say "no connection" or "no answer". */
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

/** Error classes of the MongoDB driver, of the AWS SDK and of time-outs that say the same. */
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
 * Answers of a MongoDB server that cannot serve now: host unreachable and not found, network time-out, shutting down,
 * primary stepped down, closed socket, interrupted, not writable primary, no primary, write concern and lock time-outs.
 */
const UNAVAILABLE_MONGO_CODES: ReadonlySet<number> = new Set([6, 7, 24, 64, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);

/** Statuses of an HTTP dependency that is there but cannot serve now. */
const unavailableStatus = (status: unknown): boolean => typeof status === 'number' && (status === 429 || status >= 500);

interface Clues {
  name?: unknown;
  code?: unknown;
  cause?: unknown;
  errors?: unknown;
  $metadata?: { httpStatusCode?: unknown };
}

/**
 * True where the error means that MongoDB, the object store or the Kubernetes API is away or cannot serve now; false for
 * refusals and bugs, which a repeat would meet again. Looks into causes and aggregates.
 */
export function dependencyIsDown(error: unknown): boolean {
  return isDown(error, 0);
}

function isDown(error: unknown, depth: number): boolean {
  // Causes form short chains; the bound is for one that bites its own tail.
  if (!(error instanceof Error) || depth > 8) return false;
  const { name, code, cause, errors, $metadata } = error as Clues;
  if (typeof name === 'string' && NETWORK_NAMES.has(name)) return true;
  if (typeof code === 'string' && NETWORK_CODES.has(code)) return true;
  if (name === 'KubernetesError' && unavailableStatus(code)) return true;
  if (name !== 'KubernetesError' && typeof code === 'number' && UNAVAILABLE_MONGO_CODES.has(code)) return true;
  if (unavailableStatus($metadata?.httpStatusCode)) return true;
  if (Array.isArray(errors) && errors.some((one) => isDown(one, depth + 1))) return true;
  return isDown(cause, depth + 1);
}
