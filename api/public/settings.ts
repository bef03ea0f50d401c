/** The settings of public scans and of trusted proxies. */
import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { type Static, type TObject, Type } from 'typebox';
import { listOf, secret } from '../../platform/configuration.ts';
import { httpUrl, PublicQueueSettings, text } from '../../platform/settings.ts';
import type { Credential, LiveSettings } from '../../platform/setting-files.ts';
import { domainOf, mailboxOf } from '../../core/email-address.ts';
import { VISITOR_POLICIES } from '../../stores/scans/public-scans.ts';
import type { RateLimitRule, RateLimitState } from '../../stores/rate-limits.ts';
import { NETWORK_SHARES } from '../http/networks/network-limits.ts';
import { networksOf } from '../http/networks/networks.ts';

const limit = (fallback: number, what: string) => Type.Integer({ minimum: 1, default: fallback, description: `${what}, from 1` });

export const PublicScanSettings = {
  PUBLIC_SCANS: Type.Boolean({
    default: false,
    description: 'false, or true to let anyone scan a page without an account; the results are sent by mail, so SMTP_URL must be set',
  }),
  ...PublicQueueSettings,
  MAX_LIVE_PUBLIC_SCANS: limit(50, 'the maximum number of live public scans, which are not counted in MAX_LIVE_SCANS'),
  PUBLIC_SCANS_PER_ADDRESS_AND_HOUR: limit(5, 'the maximum number of public scans per hour from one client address'),
  PUBLIC_SCANS_PER_ADDRESS_AND_DAY: limit(20, 'the maximum number of public scans per day from one client address'),
  PUBLIC_SCANS_PER_EMAIL_AND_HOUR: limit(3, 'the maximum number of public scans per hour for one e-mail address, whatever its tag after +'),
  PUBLIC_SCANS_PER_DOMAIN_AND_HOUR: limit(100, 'the maximum number of public scans per hour for all e-mail addresses of one domain'),
  PUBLIC_SCANS_PER_HOUR: limit(500, 'the maximum number of public scans per hour of the whole installation'),
  PUBLIC_SCAN_RETENTION_DAYS: Type.Integer({
    minimum: 1,
    maximum: 3650,
    default: 30,
    description:
      'the number of days for which the token of a public scan opens its result, from 1 to 3650; the e-mail address is then deleted too',
  }),
  TURNSTILE_SITE_KEY: Type.Optional(text('the site key of Cloudflare Turnstile, which is public')),
  TURNSTILE_SECRET_KEY: Type.Optional(text('the secret key of Cloudflare Turnstile; if it is not set, visitors are not checked', secret)),
  TURNSTILE_VERIFY_URL: Type.String({
    ...httpUrl("the address of Turnstile's siteverify"),
    default: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
  }),
};

export const ProxySettings = {
  TRUSTED_PROXIES: Type.String({
    default: '',
    description: 'a comma-separated list of CIDRs of proxies whose X-Forwarded-For is believed, such as those of the ingress controller',
  }),
};

export interface PublicScanOptions {
  maxLive: number;
  /** The running scans of the public queue, for estimates. */
  maxRunning: number;
  perAddressAndHour: number;
  perAddressAndDay: number;
  perEmailAndHour: number;
  perDomainAndHour: number;
  perHour: number;
  retentionDays: number;
  /** Null: visitors are not checked. */
  turnstile: { siteKey: string; secretKey: Credential; verifyUrl: string } | null;
}

type Environment = Static<TObject<typeof PublicScanSettings>>;

/** The mistakes in these settings that their schema cannot express. */
export function publicScanProblems(environment: Record<string, string | undefined>): string[] {
  const { TURNSTILE_SITE_KEY: site, TURNSTILE_SECRET_KEY: key } = environment;
  return [
    ...listOf(environment.TRUSTED_PROXIES)
      .filter((item) => !ipaddr.isValid(item) && !ipaddr.isValidCIDR(item))
      .map((item) => `TRUSTED_PROXIES holds ${JSON.stringify(item)}; each item must be a CIDR.`),
    ...(Boolean(site) === Boolean(key) ? [] : ['TURNSTILE_SITE_KEY and TURNSTILE_SECRET_KEY must both be set, or neither of them.']),
    ...(environment.PUBLIC_SCANS === 'true' && !environment.SMTP_URL
      ? ['PUBLIC_SCANS is true, but SMTP_URL is not set; their results are sent by mail.']
      : []),
  ];
}

/** Converts the environment. @returns null if public scans are off */
export function publicScanOptionsOf(config: Environment, live: Pick<LiveSettings, 'credential'>): PublicScanOptions | null {
  const { TURNSTILE_SITE_KEY: siteKey, TURNSTILE_VERIFY_URL: verifyUrl } = config;
  const secretKey = live.credential('TURNSTILE_SECRET_KEY');
  if (!config.PUBLIC_SCANS) return null;
  return {
    maxLive: config.MAX_LIVE_PUBLIC_SCANS,
    maxRunning: config.MAX_RUNNING_PUBLIC_SCANS,
    perAddressAndHour: config.PUBLIC_SCANS_PER_ADDRESS_AND_HOUR,
    perAddressAndDay: config.PUBLIC_SCANS_PER_ADDRESS_AND_DAY,
    perEmailAndHour: config.PUBLIC_SCANS_PER_EMAIL_AND_HOUR,
    perDomainAndHour: config.PUBLIC_SCANS_PER_DOMAIN_AND_HOUR,
    perHour: config.PUBLIC_SCANS_PER_HOUR,
    retentionDays: config.PUBLIC_SCAN_RETENTION_DAYS,
    turnstile: siteKey !== undefined && secretKey !== undefined ? { siteKey, secretKey, verifyUrl } : null,
  };
}

/** The rate limits of public scans, which hold across replicas. `networks/network-limits.ts` has those of all requests. */
const HOUR_SECONDS = 3_600;

/**
 * Accepted scans of one client, for one mailbox, which is stored as a hash, for all mailboxes of a domain, and of the installation:
 * each sends a mail. A subscriber has a whole /56 or /48 of IPv6, which therefore has a share of its own (`NETWORK_SHARES`).
 */
export function scanRules({ address, email }: { address: string; email: string }, options: PublicScanOptions): RateLimitRule[] {
  const networks = networksOf(address);
  const clients = networks.length === 3 ? networks : networks.slice(0, 1);
  const recipient = createHash('sha256').update(mailboxOf(email)).digest('hex');
  const domain = domainOf(email);
  const hourly = (policy: string, subject: string, limit: number) => ({ policy, subject, limit, windowSeconds: HOUR_SECONDS });
  const ofClients = (policy: string, limit: number, windowSeconds: number): RateLimitRule[] =>
    clients.map((subject, width) => ({
      policy: width === 0 ? policy : `${policy}${subject.slice(-3).replace('/', '-')}`,
      subject,
      limit: limit * NETWORK_SHARES.ipv6[width]!,
      windowSeconds,
    }));
  return [
    ...ofClients(VISITOR_POLICIES.hour, options.perAddressAndHour, HOUR_SECONDS),
    ...ofClients(VISITOR_POLICIES.day, options.perAddressAndDay, 24 * HOUR_SECONDS),
    hourly('public-email', recipient, options.perEmailAndHour),
    hourly(NETWORK_AND_DOMAIN, `${networks.at(-1)} ${domain}`, options.perDomainAndHour),
    hourly(DOMAIN, domain, options.perDomainAndHour),
    hourly('public-all', 'installation', options.perHour),
  ];
}

const DOMAIN = 'public-domain';
const NETWORK_AND_DOMAIN = 'public-network-domain';

/**
 * The rules once a mail domain has its mails of the hour: it is closed for the networks that used it, and each other one has one scan. Else
 * one client could close the domain of a large provider for everyone.
 */
export const rulesOfFullDomain = (rules: readonly RateLimitRule[]): RateLimitRule[] =>
  rules.filter(({ policy }) => policy !== DOMAIN).map((rule) => (rule.policy === NETWORK_AND_DOMAIN ? { ...rule, limit: 1 } : rule));

/** Whether only the mails of the domain are used up. */
export const isOnlyDomainFull = (states: readonly RateLimitState[]): boolean =>
  states.every(({ policy, remaining }) => (remaining === 0) === (policy === DOMAIN));
