/** The dependencies and options of the app. */
import type { Logger } from '../platform/logger.ts';
import type { Tracer } from '../platform/tracing.ts';
import type { Resolver, TargetRules } from '../core/scan/targets.ts';
import type { AllStores } from '../stores/stores.ts';
import type { Connections } from '../stores/connections.ts';
import type { MessageBus } from '../stores/nats.ts';
import type { IdentityProviderSettings } from './accounts/identity-settings.ts';
import type { StreamTimings } from './streams/scan-stream.ts';
import type { NetworkPolicy } from './http/networks/network-limits.ts';
import type { LimitName, LimitSize } from './http/rate-limits.ts';
import type { PublicScanOptions } from './public/settings.ts';
import type { Metrics } from './metrics.ts';

/** The stores that requests use. */
export type ApiStores = AllStores & Pick<Connections, 'reports' | 'scanResources' | 'scheduleResources'>;

export interface AppDeps {
  stores: ApiStores;
  /** The same stores over a few connections of their own, for requests without a valid key or session. Default: `stores`. */
  anonymousStores?: ApiStores;
  bus: Pick<MessageBus, 'connected' | 'followStatus'>;
  resolver: Resolver;
  now: () => Date;
  logger: Logger;
  metrics: Metrics;
  /** Default: no tracing. */
  tracer?: Tracer;
  /** Sends requests to Turnstile. Default: `fetch`. */
  request?: typeof fetch;
}

export interface AppOptions {
  /** The base address that callers use, for the OpenAPI document. */
  publicBaseUrl: string;
  /** Namespace of the scans that are submitted over HTTP. */
  namespace: string;
  targets: TargetRules;
  /** Hosts that test keys may scan besides loopback. Default: none. */
  testTargets?: readonly string[];
  /** Whether scans may be prepared by steps. Default: true. */
  allowPrepareSteps?: boolean;
  /** Whether the operator sends webhooks. Default: true. */
  webhooks?: boolean;
  /** The Secrets that scans may sign in with (`maySignInWith`). Default: none. */
  allowScanSecrets?: readonly string[];
  /** The maximum number of pages of one scan. */
  maxPagesLimit: number;
  /** Submissions are rejected while this many scans are live. */
  maxLiveScans: number;
  /** The share of one organisation in them. */
  maxLiveScansPerOrganisation: number;
  /** How long a replica uses the state of a queue before it reads it again, in milliseconds. Default 1,000, and 2,000 for positions. */
  queueCacheMs?: number;
  /** The OpenID Connect provider. Default: none. */
  identityProvider?: IdentityProviderSettings;
  /** Whether mails of the dashboard are sent. Default: false. */
  mail?: boolean;
  /** Whether there is a dashboard. Default: true. Without it, REST requests need an API key. */
  dashboard?: boolean;
  /** The maximum number of event streams that are open on this replica. */
  maxEventStreams: number;
  /** Null, the default: the installation offers no public scans. */
  publicScans?: PublicScanOptions | null;
  /** Proxies whose X-Forwarded-For is believed, as CIDRs. Default: none. */
  trustedProxies?: readonly string[];
  /** The version of Curbcut, for the OpenAPI document. */
  version: string;
  /** Default: the contract's four limits. */
  limits?: Partial<Record<LimitName, LimitSize>>;
  /** Default: `NETWORK_LIMITS`. */
  networkLimits?: Partial<Record<NetworkPolicy, LimitSize>>;
  /** Default: `STREAM_TIMINGS`. */
  streams?: Partial<StreamTimings>;
  /** The time limit of one call to a dependency, in milliseconds. Default 6,000: longer than the stores' own limits. */
  dependencyTimeoutMs?: number;
  /** The time limit for receiving a request, in milliseconds. Default 30,000. */
  requestTimeoutMs?: number;
}
