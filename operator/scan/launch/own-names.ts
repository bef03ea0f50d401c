/** The variables and volumes that the operator itself gives to scanner pods, so that an installation's cannot replace them. */
import { POD_IDENTITY_ANNOTATIONS } from '../../../core/protocol/pod-messages.ts';

export const OWN_VARIABLES: readonly string[] = [
  'SCAN_INPUT',
  'SCAN_AUTH',
  ...Object.keys(POD_IDENTITY_ANNOTATIONS),
  'TERMINATION_LOG',
  'TMPDIR',
  'HOME',
  'UV_THREADPOOL_SIZE',
];
export const OWN_VOLUMES: readonly string[] = ['input', 'auth', 'tmp', 'shm'];
