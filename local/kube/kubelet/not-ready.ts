/** Why a container cannot start yet. */

/** A container cannot start; the start is retried. */
export class NotReadyError extends Error {
  override name = 'NotReadyError';
}

/** A volume cannot be mounted; the start is retried. */
export class MountError extends NotReadyError {
  override name = 'MountError';
}
