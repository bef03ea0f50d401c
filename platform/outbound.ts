/** Applies the settings of outbound connections that concern the whole process, and follows their changes. */
import { trustAuthorities } from './authorities.ts';
import type { Logger } from './logger.ts';
import { rangesOf, useProxy, type OutboundProxy } from './outbound-proxy.ts';
import type { LiveSettings } from './setting-files.ts';

/** The proxy that settings name. @param prefix of the names of the settings */
export function outboundProxyOf(live: Pick<LiveSettings, 'credential'>, prefix: '' | 'SCANNER_' = ''): OutboundProxy | undefined {
  const url = live.credential(`${prefix}HTTPS_PROXY`);
  return url && { url, noProxy: live.credential(`${prefix}NO_PROXY`)?.() ?? '' };
}

/** Trusts private authorities, and sends requests of `fetch` through the proxy. */
export function applyOutboundSettings(live: LiveSettings, logger: Logger): void {
  const authorities = live.credential('PRIVATE_CA');
  if (authorities !== undefined) {
    trustAuthorities(authorities());
    live.onChange(['PRIVATE_CA'], () => trustAuthorities(authorities()));
  }
  for (const prefix of ['', 'SCANNER_'] as const) {
    const ranges = rangesOf(outboundProxyOf(live, prefix)?.noProxy ?? '');
    if (ranges.length > 0) logger.warn({ setting: `${prefix}NO_PROXY`, ranges }, 'ranges ignored; list host names, domains or addresses');
  }
  const proxy = outboundProxyOf(live);
  if (proxy === undefined) return;
  useProxy(proxy);
  live.onChange(['HTTPS_PROXY'], () => useProxy(proxy));
}
