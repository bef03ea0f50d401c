/** NATS in the domain's words. Everything here may fail without harm: messages make things quick, never right. */
import type { StatusMessage } from '../core/messages.ts';

export interface Bus {
  /** False while there is no connection; it is sought again for ever in the background. */
  readonly connected: boolean;
  /** Tells of a change. Never throws; lost while there is no connection. */
  publishStatus(organisation: string, message: StatusMessage): void;
  /** Calls `onChange` for each change of one scan until the returned function is called. */
  followStatus(organisation: string, scanId: string, onChange: (message: StatusMessage) => void): () => void;
  /** Calls `onMessage` with each raw message of any pod, at most `POD_MESSAGE_MAX_BYTES` long, with the scan id of its subject. */
  followProgress(onMessage: (scanId: string, payload: Uint8Array) => void): () => void;
  /**
   * A credential that may publish on exactly `progress.<scan>` until `expiresAt`; null where this bus has no signing key.
   * @returns what PodInput's `messages` holds
   */
  issueScanCredential(scanId: string, expiresAt: Date): { url: string; subject: string; jwt: string; seed: string } | null;
  close(): Promise<void>;
}
