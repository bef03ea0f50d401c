/** Who this process is at the object store: the owner of an access key, or of a session that ends and is renewed. */
import type { Static, TObject } from 'typebox';
import type { Logger } from '../platform/logger.ts';
import { proxyVariables, type OutboundProxy } from '../platform/outbound-proxy.ts';
import type { LiveSettings } from '../platform/setting-files.ts';
import type { S3Settings } from '../platform/settings.ts';
import { withTimeLimit } from '../platform/time-limits.ts';

/** What signs requests. */
export interface S3Key {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  /** The end of the session. Absent: the key does not end. */
  expiration?: Date;
}

export interface S3Identity {
  /**
   * Returns an identity that lasts for `seconds`, or else for as long as a new session does.
   * @throws if there is no session, and none can be obtained
   */
  lasting(seconds: number): Promise<S3Key>;
}

/** The pause between two attempts to renew a session that has not ended, successful or not, in milliseconds. */
const RENEW_PAUSE_MS = 60_000;
/** A session that ends sooner is renewed for any request, in seconds. */
const SPARE_SECONDS = 300;
const OBTAIN_LIMIT_MS = 5_000;

/** The identity of an access key. @param key returns the current one */
export const keyIdentity = (key: () => S3Key): S3Identity => ({ lasting: () => Promise.resolve(key()) });

/**
 * The identity of sessions. Callers that need a new session at the same time share it. While none can be obtained, the earlier
 * one is used until it ends.
 * @param obtain asks for a session, which has an expiration
 */
export function sessionIdentity(
  obtain: () => Promise<S3Key>,
  { now = () => Date.now(), onFailure = () => undefined }: { now?: () => number; onFailure?: (error: unknown) => void } = {},
): S3Identity {
  let session: S3Key | null = null;
  let attemptedAt = -Infinity;
  let obtaining: Promise<S3Key> | null = null;

  const secondsLeft = (): number => (session === null ? -1 : secondsUntil(session.expiration, now()));

  async function renew(): Promise<S3Key> {
    try {
      return (session = await withTimeLimit(obtain(), OBTAIN_LIMIT_MS, 'session of the object store'));
    } catch (error) {
      if (session === null || secondsLeft() <= 0) throw error;
      onFailure(error);
      return session;
    } finally {
      attemptedAt = now();
    }
  }

  return {
    lasting(seconds) {
      // A launch signs many links. Each would wait for a token service that hangs.
      const pauses = now() - attemptedAt < RENEW_PAUSE_MS && secondsLeft() > 0;
      if (session !== null && (pauses || secondsLeft() >= Math.max(seconds, SPARE_SECONDS))) return Promise.resolve(session);
      obtaining ??= renew().finally(() => (obtaining = null));
      return obtaining;
    },
  };
}

/** Returns the seconds until a session ends; infinite for an access key. */
export const secondsUntil = (expiration: Date | undefined, now: number): number =>
  expiration === undefined ? Infinity : Math.floor((expiration.getTime() - now) / 1000);

type S3Configuration = Readonly<Static<TObject<typeof S3Settings>>>;

/** The identity that the settings name: an access key, a role by a web identity token, or an agent on the node. */
export function openS3Identity(
  config: S3Configuration,
  { live, logger, proxy }: { live: LiveSettings; logger: Logger; proxy?: OutboundProxy },
): S3Identity {
  const accessKeyId = live.credential('S3_ACCESS_KEY_ID');
  const secretAccessKey = live.credential('S3_SECRET_ACCESS_KEY');
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return keyIdentity(() => ({ accessKeyId: accessKeyId(), secretAccessKey: secretAccessKey() }));
  const obtain = config.AWS_ROLE_ARN === undefined ? sessionsOfAgent(config) : sessionsOfRole(config, proxy);
  return sessionIdentity(obtain, {
    onFailure: (err) => logger.warn({ err }, 'session of the object store not renewed; the earlier one is used until it ends'),
  });
}

/** Exchanges the token of a service account, which the kubelet rotates in its file, for a session of a role. */
function sessionsOfRole(config: S3Configuration, proxy: OutboundProxy | undefined): () => Promise<S3Key> {
  return async () => {
    const agent = proxy && { proxyEnv: proxyVariables(proxy) };
    const { fromTokenFile } = await import('@aws-sdk/credential-provider-web-identity');
    return fromTokenFile({
      roleArn: config.AWS_ROLE_ARN,
      webIdentityTokenFile: config.AWS_WEB_IDENTITY_TOKEN_FILE,
      roleSessionName: 'curbcut',
      durationSeconds: config.S3_SESSION_SECONDS,
      clientConfig: {
        region: config.S3_REGION,
        maxAttempts: 2,
        ...(config.AWS_ENDPOINT_URL_STS && { endpoint: config.AWS_ENDPOINT_URL_STS }),
        ...(agent && { requestHandler: { httpAgent: agent, httpsAgent: agent } }),
      },
    })();
  };
}

/** Asks an agent on the node, such as that of EKS Pod Identity, which decides how long its sessions last. */
function sessionsOfAgent(config: S3Configuration): () => Promise<S3Key> {
  return async () => {
    const { fromHttp } = await import('@aws-sdk/credential-provider-http');
    return fromHttp({
      awsContainerCredentialsFullUri: config.AWS_CONTAINER_CREDENTIALS_FULL_URI,
      awsContainerAuthorizationTokenFile: config.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE,
    })();
  };
}
