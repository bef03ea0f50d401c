/** What a scan of a test key may reach. */
import ipaddr from 'ipaddr.js';
import { namedByRule, portOf } from './targets.ts';

/**
 * Whether a test key may scan a URL: a loopback address, or a host that the installation names for tests, such as that of the
 * demo site. The target rules apply as well, so that ALLOW_TARGETS decides about loopback.
 * @param named host names or addresses, or one of them with a port
 */
export function isTestTarget(text: string, named: readonly string[]): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback') return true;
  return host === 'localhost' || host.endsWith('.localhost') || namedByRule(host, portOf(url), named);
}
