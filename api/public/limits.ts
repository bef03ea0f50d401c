/** The rate limits of public scans, which hold across replicas. `networks/network-limits.ts` has those of all requests. */
import { createHash } from 'node:crypto';
import { domainOf, mailboxOf } from '../../core/email-address.ts';
import { VISITOR_POLICIES } from '../../stores/scans/public-scans.ts';
import type { RateLimitRule } from '../../stores/rate-limits.ts';
import { networkOf } from '../http/networks/networks.ts';
import type { PublicScanOptions } from './settings.ts';

const HOUR_SECONDS = 3_600;

/**
 * Accepted scans of one client address, for one mailbox, which is stored as a hash, for all mailboxes of a domain, and of the
 * installation: each sends a mail.
 */
export function scanRules({ address, email }: { address: string; email: string }, options: PublicScanOptions): RateLimitRule[] {
  const network = networkOf(address);
  const recipient = createHash('sha256').update(mailboxOf(email)).digest('hex');
  const hourly = (policy: string, subject: string, limit: number): RateLimitRule => ({
    policy,
    subject,
    limit,
    windowSeconds: HOUR_SECONDS,
  });
  return [
    hourly(VISITOR_POLICIES.hour, network, options.perAddressAndHour),
    { policy: VISITOR_POLICIES.day, subject: network, limit: options.perAddressAndDay, windowSeconds: 24 * HOUR_SECONDS },
    hourly('public-email', recipient, options.perEmailAndHour),
    hourly('public-domain', domainOf(email), options.perDomainAndHour),
    hourly('public-all', 'installation', options.perHour),
  ];
}
