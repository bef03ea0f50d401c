/** The network of a client as the audit log names it. */
import { networkOf } from './key-check.ts';

/**
 * The /24 of an IPv4 address, or the /64 of an IPv6 address: enough to recognise a provider or an office, and less than the
 * address of a person.
 */
export function auditNetwork(address: string): string {
  const network = networkOf(address.replace(/^::ffff:(?=[\d.]+$)/i, ''));
  return network.includes(':') ? network : network.replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0/24');
}
