/** The addresses that scans on this machine may reach besides public sites. */
import { readAddress } from '../core/scan/typed-address.ts';

const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/** Loopback, and the host of a typed address if there is one. */
export function allowedTargets(typed = ''): { value: string; described: string } {
  const { url } = readAddress(typed);
  const named = URL.canParse(url) ? [new URL(url).hostname].filter((host) => host !== '') : [];
  return { value: [...LOOPBACK, ...named].join(','), described: ['loopback', ...named].join(' and ') };
}
