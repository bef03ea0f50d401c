/**
 * The HTTP proxy by which an installation reaches other networks. It is asked for connections by name (`CONNECT`), and for plain HTTP by
 * the whole address; TLS is between this process and the server. The proxy itself is reached without TLS.
 */
// As a namespace, because Node.js 22, on which `curbcut scan --local` runs, does not export setGlobalProxyFromEnv.
import * as http from 'node:http';
import type { Socket } from 'node:net';
import { listOf } from './configuration.ts';
import { type Credential, currentOf, type LiveSettings } from './setting-files.ts';
import { trustAuthorities } from './authorities.ts';
import type { Logger } from './logger.ts';

export interface OutboundProxy {
  /** `http://host:port`, with or without `user:password@`. */
  url: Credential;
  /** Hosts that are reached without the proxy, as in `NO_PROXY`. */
  noProxy: string;
}

const NO_PROXY_ITEM = /^(\*|(\*?\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|\[[0-9a-f:]+\]|[0-9a-f:]+)(:\d{1,5})?$/i;

const RANGE = /^[0-9a-f:.]+\/\d{1,3}$/i;

/** The items that are ranges. They are ignored: programs read them in different ways, and container runtimes set them. */
export const rangesOf = (noProxy: string): string[] => listOf(noProxy).filter((item) => RANGE.test(item));

/** Returns a sentence for each item that is not a host, a domain, an address or a range. */
export function noProxyMistakes(name: string, value: string): string[] {
  return listOf(value)
    .filter((item) => !NO_PROXY_ITEM.test(item) && !RANGE.test(item))
    .map((item) => `${name} holds ${JSON.stringify(item)}; each item must be a host name, a domain with a leading dot, or an address, each with or without a port.`); // prettier-ignore
}

/** Returns the proxy for a connection to the host of a URL. Null: none, it is reached directly. */
export function proxyFor(proxy: OutboundProxy | undefined, target: URL): URL | null {
  if (proxy === undefined) return null;
  const host = target.hostname.toLowerCase().replace(/\.$/, '');
  const port = target.port || { 'https:': '443', 'http:': '80' }[target.protocol] || '';
  const matches = (item: string): boolean => {
    const [, name = item, itemPort] = /^(.*[^:]):(\d+)$/.exec(item.includes('::') && !item.startsWith('[') ? '' : item) ?? [];
    if (itemPort !== undefined && itemPort !== port) return false;
    const wanted = name.toLowerCase().replace(/^\*(?=\.)/, '').replace(/(?<=.)\.$/, ''); // prettier-ignore
    return wanted === '*' || wanted === host || `[${wanted}]` === host || (wanted.startsWith('.') && host.endsWith(wanted));
  };
  return listOf(proxy.noProxy).some(matches) ? null : new URL(currentOf(proxy.url));
}

/** The variables by which Node.js itself uses a proxy. */
export function proxyVariables(proxy: OutboundProxy): { HTTP_PROXY: string; HTTPS_PROXY: string; NO_PROXY: string } {
  const url = currentOf(proxy.url);
  return { HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: proxy.noProxy };
}

let restore: (() => void) | undefined;

/** Sends the requests of `fetch` through a proxy from now on, and no longer through that of an earlier call. Undefined: none. */
export function useProxy(proxy: OutboundProxy | undefined): void {
  restore?.();
  restore = proxy && http.setGlobalProxyFromEnv(proxyVariables(proxy));
}

/** The header with the credentials of a proxy; none without credentials. */
export function proxyAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** The proxy did not connect. The message names no credentials. */
export class ProxyRefused extends Error {
  override readonly name = 'ProxyRefused';
}

/** What the status of a proxy means. */
export const proxyRefusal = (status: number): string =>
  status === 407
    ? 'the outbound proxy refuses the credentials of this installation (status 407)'
    : `the outbound proxy answered with status ${status}`;

/**
 * Asks a proxy to connect to a host.
 * @throws ProxyRefused if it refuses; Error with the code `ETIMEDOUT` after `timeoutMs`; or the error of the socket
 */
export function connectThrough(proxy: URL, authority: string, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const asking = http.request({
      method: 'CONNECT',
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: Number(proxy.port || 80),
      path: authority,
      headers: { host: authority, ...proxyAuthorization(proxy) },
      agent: false,
    });
    const expire = (): void => void asking.destroy(Object.assign(new Error(`no connection within ${timeoutMs} ms`), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(expire, timeoutMs);
    asking.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    asking.once('connect', ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
      clearTimeout(timer);
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy();
        return reject(new ProxyRefused(proxyRefusal(statusCode)));
      }
      if (head.length > 0) socket.unshift(head);
      socket.setNoDelay(true);
      resolve(socket);
    });
    asking.end();
  });
}

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
