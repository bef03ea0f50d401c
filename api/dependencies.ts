/** The stores and the settings of the app. */
import type { TargetRules } from '../core/scan/targets.ts';
import type { AllStores } from '../stores/stores.ts';
import type { Connections } from '../stores/connections.ts';
import type { IdentityProviderSettings } from './accounts/sessions/identity-provider.ts';
import { STREAM_TIMINGS, type StreamTimings } from './streams/scan-stream.ts';
import { NETWORK_LIMITS, type NetworkPolicy } from './http/networks/network-limits.ts';
import { LIMITS, type LimitName, type LimitSize } from './http/rate-limits.ts';
import type { PublicScanOptions } from './public/settings.ts';
import type { LegalLinks } from './web/legal.ts';

/** The stores that requests use. */
export type ApiStores = AllStores & Pick<Connections, 'reports' | 'scanResources' | 'scheduleResources'>;

export interface Settings {
  /** The base address that callers use, for the OpenAPI document. */
  publicBaseUrl: string;
  /** Namespace of the scans that are submitted over HTTP. */
  namespace: string;
  targets: TargetRules;
  /** Hosts that test keys may scan besides loopback. */
  testTargets: readonly string[];
  /** Whether scans may be prepared by steps. */
  allowPrepareSteps: boolean;
  /** Whether the installation sends webhooks. */
  webhooks: boolean;
  /** The Secrets that scans may sign in with (`maySignInWith`). */
  allowScanSecrets: readonly string[];
  /** The maximum number of pages of one scan. */
  maxPagesLimit: number;
  /** Submissions are rejected while this many scans are live. */
  maxLiveScans: number;
  /** The share of one organisation in them. */
  maxLiveScansPerOrganisation: number;
  /** How long a replica uses the state of a queue before it reads it again, in milliseconds. Positions are used twice as long. */
  queueCacheMs: number;
  /** The OpenID Connect provider. Null if none is configured. */
  identityProvider: IdentityProviderSettings | null;
  /** Whether mails of the dashboard are sent. */
  mail: boolean;
  /** Whether there is a dashboard. Without it, REST requests need an API key. */
  dashboard: boolean;
  legal: LegalLinks;
  /** The maximum number of event streams that are open on this replica. */
  maxEventStreams: number;
  /** Null: the installation offers no public scans. */
  publicScans: PublicScanOptions | null;
  /** Proxies whose X-Forwarded-For is believed, as CIDRs. */
  trustedProxies: readonly string[];
  /** The version of Curbcut, for the OpenAPI document. */
  version: string;
  limits: Readonly<Record<LimitName, LimitSize>>;
  networkLimits: Readonly<Record<NetworkPolicy, LimitSize>>;
  streams: StreamTimings;
  /** The time limit of one call to a dependency, in milliseconds. Longer than the stores' own limits. */
  dependencyTimeoutMs: number;
  /** The time limit for receiving a request, in milliseconds. */
  requestTimeoutMs: number;
}

const DEFAULTS = {
  testTargets: [],
  allowPrepareSteps: true,
  webhooks: true,
  allowScanSecrets: [],
  queueCacheMs: 1_000,
  identityProvider: null,
  mail: false,
  dashboard: true,
  legal: {},
  publicScans: null,
  trustedProxies: [],
  dependencyTimeoutMs: 6_000,
  requestTimeoutMs: 30_000,
} satisfies Partial<Settings>;

interface Tables {
  limits?: Partial<Settings['limits']>;
  networkLimits?: Partial<Settings['networkLimits']>;
  streams?: Partial<StreamTimings>;
}

/** The settings that have no default, and any others. */
export type AppOptions = Omit<Settings, keyof typeof DEFAULTS | keyof Tables> & Partial<Pick<Settings, keyof typeof DEFAULTS>> & Tables;

export function withDefaultSettings(options: AppOptions): Settings {
  return {
    ...DEFAULTS,
    ...options,
    limits: { ...LIMITS, ...options.limits },
    networkLimits: { ...NETWORK_LIMITS, ...options.networkLimits },
    streams: { ...STREAM_TIMINGS, ...options.streams },
  };
}
