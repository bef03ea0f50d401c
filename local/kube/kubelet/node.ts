import { arch } from 'node:os';

export const NODE_NAME = 'curbcut-local';
export const NODE_ADDRESS = '127.0.0.1';

/** The labels that every real node has too. */
export const NODE_LABELS: Record<string, string> = {
  'kubernetes.io/hostname': NODE_NAME,
  'kubernetes.io/os': 'linux',
  'kubernetes.io/arch': arch() === 'x64' ? 'amd64' : arch(),
};
