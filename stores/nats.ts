/** The message bus over NATS. Messages only make results arrive sooner, so every failure here is harmless. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from '../platform/logger.ts';
import { currentOf, type Credential } from '../platform/setting-files.ts';
import { ALL_PROGRESS, fromHelper, progressSubject, statusSubject, teamSubject, toHelper } from '../core/protocol/subjects.ts';
import { POD_MESSAGE_MAX_BYTES, type Team, TEAM_MESSAGE_MAX_BYTES } from '../core/protocol/pod-messages.ts';
import { accountOf, createScanSigner, openNatsConnection, type ScanSigner } from './nats-connection.ts';

export interface MessageBus {
  /** False while there is no connection. The bus never stops reconnecting. */
  readonly connected: boolean;
  /** Publishes a change of a scan. Never throws. Without a connection the message is lost. */
  publishStatus(organisation: string, scanId: string): void;
  /** Calls `onChange` for each change of one scan until the returned function is called. */
  followStatus(organisation: string, scanId: string, onChange: () => void): () => void;
  /** Calls `onMessage` for each message of any pod of at most `POD_MESSAGE_MAX_BYTES`, with the scan id from its subject. */
  followProgress(onMessage: (scanId: string, payload: Uint8Array) => void): () => void;
  /**
   * Issues a credential that can publish only on `progress.<scan>` until `expiresAt`.
   * @returns the `messages` of the PodInput; null if this bus has no signing key
   */
  issueScanCredential(scanId: string, expiresAt: Date): { url: string; subject: string; jwt: string; seed: string } | null;
  /**
   * Issues the access of each pod of a scan to the others, by its index: pod 0 may speak to all helpers, a helper to pod 0.
   * @returns null if this bus has no signing key
   */
  issueTeam(scanId: string, pods: number, expiresAt: Date): Team[] | null;
  /** Connects again, because the address has changed. */
  renew(): void;
  close(): Promise<void>;
}

export interface MessageBusConfiguration {
  /** The address at which this process reaches NATS. Separate several with commas. */
  url: Credential;
  /** The address at which pods reach NATS. Default: `url`. */
  podUrl?: Credential;
  /** The path of a `.creds` file, which is read again for each new connection. Default: connect without credentials. */
  credentialsFile?: string;
  /** The seed (`SA…`) that signs the credentials of scans: of this process's account, or of one of its signing keys. */
  signingSeed?: Credential;
  logger: Logger;
}

/**
 * Creates a message bus that connects in the background and never gives up.
 * @throws if the signing seed is malformed
 */
export function createMessageBus({ url, podUrl = url, credentialsFile, signingSeed, logger }: MessageBusConfiguration): MessageBus {
  const signer = signingSeed === undefined ? null : createCurrentSigner(signingSeed, logger);
  const readCredentials = credentialsFile === undefined ? null : () => readFileSync(credentialsFile);
  const connection = openNatsConnection({ url, readCredentials, logger });
  const account = (): string | null => (readCredentials === null ? null : accountOf(readCredentials()));

  return {
    get connected() {
      return connection.connected;
    },

    publishStatus(organisation, scanId) {
      try {
        connection.publish(statusSubject(organisation, scanId), '');
      } catch (error) {
        logger.warn({ scan: scanId, organisation, err: error }, 'status message lost');
      }
    },

    followStatus(organisation, scanId, onChange) {
      return connection.follow(statusSubject(organisation, scanId), () => onChange());
    },

    followProgress(onMessage) {
      const prefix = progressSubject('');
      return connection.follow(ALL_PROGRESS, (subject, payload) => {
        if (payload.byteLength <= POD_MESSAGE_MAX_BYTES) onMessage(subject.slice(prefix.length), payload);
        else logger.warn({ subject, bytes: payload.byteLength }, 'oversized pod message ignored');
      });
    },

    issueScanCredential(scanId, expiresAt) {
      if (signer === null) return null;
      const subject = progressSubject(scanId);
      return { url: currentOf(podUrl), subject, ...signer()({ publish: [subject], payload: POD_MESSAGE_MAX_BYTES }, expiresAt, account()) };
    },

    issueTeam(scanId, pods, expiresAt) {
      if (signer === null) return null;
      // Pods of an earlier Job of the scan may still run on a lost node.
      const subject = `${teamSubject(scanId)}.${randomBytes(8).toString('hex')}`;
      return Array.from({ length: pods }, (_, index) => {
        const [publish, subscribe] =
          index === 0 ? [toHelper(subject, '*'), fromHelper(subject, '*')] : [fromHelper(subject, index), toHelper(subject, index)];
        const signed = signer()({ publish: [publish], subscribe, payload: TEAM_MESSAGE_MAX_BYTES }, expiresAt, account());
        return { index, pods, url: currentOf(podUrl), subject, ...signed };
      });
    },

    renew: () => connection.renew(),
    close: () => connection.close(),
  };
}

/** Returns the signer of the current seed. A changed seed that is malformed is not used. @throws if the first one is malformed */
function createCurrentSigner(seed: Credential, logger: Logger): () => ScanSigner {
  let read = currentOf(seed);
  let signer = createScanSigner(read);
  return () => {
    const current = currentOf(seed);
    if (current === read) return signer;
    read = current;
    try {
      signer = createScanSigner(current);
    } catch {
      // The error may quote the seed.
      logger.error({ setting: 'NATS_SIGNING_SEED' }, 'changed setting refused, the earlier value stays in use');
    }
    return signer;
  };
}

/** The bus of an installation without NATS. Readers poll the database instead. */
export function noMessageBus(): MessageBus {
  return {
    connected: false,
    publishStatus: () => undefined,
    followStatus: () => () => undefined,
    followProgress: () => () => undefined,
    issueScanCredential: () => null,
    issueTeam: () => null,
    renew: () => undefined,
    close: () => Promise.resolve(),
  };
}
