/** `ALLOW_TARGETS` and `DENY_TARGETS` of a process's environment, as the address rule takes them. */
import ipaddr from 'ipaddr.js';
import { listOf } from './configuration.ts';
import type { TargetRules } from '../core/scan/targets.ts';

const isRange = (item: string): boolean => ipaddr.isValid(item) || ipaddr.isValidCIDR(item);
const isHost = (item: string): boolean => /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?$/i.test(item);

/**
 * Reads both lists. A range that is misspelt would let through too little, or, worse, refuse nothing: each is a problem,
 * told in the words of `readConfiguration`, which takes them as further problems.
 */
export function readTargetRules(environment: Record<string, string | undefined>): { targets: TargetRules; problems: string[] } {
  const allow = listOf(environment.ALLOW_TARGETS);
  const deny = listOf(environment.DENY_TARGETS);
  const problems = [
    ...allow
      .filter((item) => !isRange(item) && (item.includes('/') || !isHost(item)))
      .map((item) => `ALLOW_TARGETS holds ${JSON.stringify(item)}; each item must be a CIDR, a host name or address:port.`),
    ...deny.filter((item) => !isRange(item)).map((item) => `DENY_TARGETS holds ${JSON.stringify(item)}; each item must be a CIDR.`),
  ];
  return { targets: { allow, deny }, problems };
}
