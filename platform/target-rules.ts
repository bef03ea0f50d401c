/** Parses `ALLOW_TARGETS` and `DENY_TARGETS` into the rules that `judgeTarget` applies, and `TEST_TARGETS`. */
import ipaddr from 'ipaddr.js';
import { listOf } from './configuration.ts';
import type { TargetRules } from '../core/scan/targets.ts';

const isRange = (item: string): boolean => ipaddr.isValid(item) || ipaddr.isValidCIDR(item);
const isHost = (item: string): boolean => /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?$/i.test(item);

/**
 * Parses both lists. Each malformed item is a problem, because a misspelt range in `DENY_TARGETS` would deny nothing.
 * @returns `problems` for the `further` parameter of `readConfiguration`
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

/** Parses `TEST_TARGETS`: host names, with or without a port. An address range would allow more than a test site. */
export function readTestTargets(environment: Record<string, string | undefined>): { testTargets: string[]; problems: string[] } {
  const testTargets = listOf(environment.TEST_TARGETS);
  const problems = testTargets
    .filter((item) => item.includes('/') || !isHost(item))
    .map((item) => `TEST_TARGETS holds ${JSON.stringify(item)}; each item must be a host name or name:port.`);
  return { testTargets, problems };
}
