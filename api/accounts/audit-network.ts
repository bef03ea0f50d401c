/** The network of a client as the audit log names it. */
import { networksOf } from '../http/networks/networks.ts';

/**
 * The /24 of an IPv4 address, or the /64 of an IPv6 address: enough to recognise a provider or an office, and less than the
 * address of a person.
 */
export function auditNetwork(address: string): string {
  const [own, wider] = networksOf(address);
  return own.includes(':') ? own : (wider ?? own);
}
