/** Reasons for which a container cannot start yet. */

/** What keeps a container from starting; it is tried again. */
export class NotReadyError extends Error {
  override name = 'NotReadyError';
}

/** The same, for a volume. */
export class MountError extends NotReadyError {
  override name = 'MountError';
}
