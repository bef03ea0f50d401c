/** Webhooks: which events exist, and what an endpoint is. */
import type { ScanComparison } from '../protocol/scan-schedules.ts';

/** A scan ends with one of the first two. A canceled scan has at most a partial result, so its event is `scan.failed`; `status` says which it was. */
export const WEBHOOK_EVENTS = ['scan.completed', 'scan.failed', 'schedule.regressed', 'credits.low'] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** The event of the test button. No endpoint subscribes to it. */
export const TEST_EVENT = 'webhook.test';
export const DELIVERED_EVENTS = [...WEBHOOK_EVENTS, TEST_EVENT] as const;
export type DeliveredEvent = (typeof DELIVERED_EVENTS)[number];

/** `json`: the event as it is. The others are messages for incoming webhooks of Slack, of a workflow of Microsoft Teams, and of Mattermost. */
export const WEBHOOK_FORMATS = ['json', 'slack', 'teams', 'mattermost'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** The most endpoints of an organisation that are made over REST or in the dashboard, and the most in its manifest. */
export const WEBHOOKS_MAX = 10;
export const WEBHOOK_NAME_MAX = 100;
/** `credits.low` is sent when fewer credits than this can be reserved, unless the endpoint says another number. */
export const CREDITS_BELOW_DEFAULT = 100;
export const CREDITS_BELOW_MAX = 1_000_000_000;

/** How long a secret still signs after it was replaced, in milliseconds. */
export const SECRET_OVERLAP_MS = 24 * 3_600_000;
/** The most secrets that sign at the same time. */
export const SECRETS_MAX = 10;
/** The host of an endpoint's address. The rest may contain a secret. */
export const hostOf = ({ url }: { url: string }): string => URL.parse(url)?.host ?? 'not a URL';

/** What the target rules say about an address, in words that are not about scans. */
export const aboutAddress = (message: string): string =>
  message.replaceAll(' can be scanned', ' can be used').replaceAll(' cannot be scanned', ' cannot be used');

/** How long a delivery is tried, in milliseconds. */
export const RETRIED_FOR_MS = 3 * 86_400_000;
/** An endpoint is stopped when every attempt of this time failed, in milliseconds. */
export const STOPPED_AFTER_MS = 5 * 86_400_000;
/** How long a delivery and its attempts are kept, in milliseconds. */
export const DELIVERY_KEPT_MS = 30 * 86_400_000;

/** Why an endpoint gets no deliveries: someone disabled it, it answered 410, or it failed for `STOPPED_AFTER_MS`. */
export const DISABLED_REASONS = ['requested', 'gone', 'failing'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/**
 * `waiting`: it is tried when it is due. `delivered`: the endpoint answered 2xx. `failed`: given up. `canceled`: the endpoint was
 * disabled or deleted before.
 */
export const DELIVERY_STATES = ['waiting', 'delivered', 'failed', 'canceled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** What `schedule.regressed` says: the schedule, and how its last scan differs from the one before it. Numbers only, never findings. */
export interface ScheduleRegression {
  namespace: string;
  name: string;
  url: string;
  /** Of the last scan, and of the one that it was compared with. */
  scanId: string;
  previousScanId: string;
  /** Whether the schedule was not worse already. Absent in events of earlier versions: it was not. */
  began?: boolean;
  /** Whether the last scan met its thresholds. Null without thresholds. */
  passed: boolean | null;
  /** The numbers of violations. Null if the results could not be compared. */
  comparison: Omit<ScanComparison, 'scan' | 'previous'> | null;
}
