/** The state of a signed-in browser, which every visit of the scan starts with: cookies, and the storage of origins. */
import type { Cdp, Commands } from '../browser/cdp.ts';
import { WORLD } from '../scripts/source.ts';
import type { OriginValue } from './sign-in.ts';

type Cookie = Commands['Network.getAllCookies']['returnType']['cookies'][number];
/**
 * A cookie as the browser lists it. A domain without a leading dot belongs to one host only. `expires` is negative for the session of the
 * browser.
 */
export type SessionCookie = Pick<Cookie, 'name' | 'value' | 'domain' | 'path' | 'secure'> & Partial<Cookie>;

export interface OriginStorage {
  origin: string;
  local: Record<string, string>;
  session: Record<string, string>;
}

export interface SessionState {
  readonly cookies: readonly SessionCookie[];
  readonly storage: readonly OriginStorage[];
}

/** A cookie of the scan's Secret. It is sent to the host of its origin only, and without encryption only if the origin has none. */
export function cookieOf({ origin, name, value }: OriginValue): SessionCookie {
  const { hostname, protocol } = new URL(origin);
  return { name, value, domain: hostname, path: '/', secure: protocol === 'https:' };
}

const identityOf = ({ name, domain, path, partitionKey }: SessionCookie): string => JSON.stringify([name, domain, path, partitionKey]);

/**
 * Takes over what a visit changed in the cookies of the session, such as a new session ID. What it deleted or added is not
 * taken over, because each page is tested as a first visit.
 * @param before the cookies with which the visit started; another visit may have changed the session since
 * @returns the same state if nothing changed
 */
export function withRotated(state: SessionState, before: SessionState, after: readonly SessionCookie[]): SessionState {
  const values = new Map(before.cookies.map((cookie) => [identityOf(cookie), cookie.value]));
  const changed = new Map(
    after.flatMap((cookie) => {
      const was = values.get(identityOf(cookie));
      return was === undefined || was === cookie.value || cookie.value === '' ? [] : [[identityOf(cookie), cookie] as const];
    }),
  );
  if (changed.size === 0) return state;
  return { ...state, cookies: state.cookies.map((cookie) => changed.get(identityOf(cookie)) ?? cookie) };
}

/** The value of the Cookie header for a URL (RFC 6265, 5.4); empty if there are no cookies for it. */
export function cookieHeader(cookies: readonly SessionCookie[], url: URL): string {
  return cookies
    .filter(({ domain, path, secure }) => {
      const host = domain.startsWith('.') ? url.hostname === domain.slice(1) || url.hostname.endsWith(domain) : url.hostname === domain;
      const below = path === '/' || url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
      return host && below && (!secure || url.protocol === 'https:');
    })
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ');
}

/** Shorter values are settings, such as a language or the answer to a consent banner. */
const TOKEN_MIN_LENGTH = 16;

/** The values of a state that look like session IDs or tokens. */
export function tokensOf({ cookies, storage }: SessionState): string[] {
  const stored = storage.flatMap(({ local, session }) => [...Object.values(local), ...Object.values(session)]);
  return [...cookies.map(({ value }) => value), ...stored.flatMap(stringsIn)].filter(
    (value) => value.length >= TOKEN_MIN_LENGTH && !/[\s/]/.test(value),
  );
}

/** A value, or the strings in it if it is JSON. */
function stringsIn(text: string): string[] {
  const strings: string[] = [];
  try {
    JSON.parse(text, (_key, value: unknown) => void (typeof value === 'string' && strings.push(value)));
    return strings;
  } catch {
    return [text];
  }
}

/** What the pages before left behind. `*` stands for all origins; the storage of the tab's session is cleared with that of its origin. */
const STORAGE = ['cookies', 'local_storage', 'indexeddb', 'cache_storage', 'service_workers', 'file_systems'].join();

/** Makes the next page a first visit, whatever the pages before have stored, and however their visits ended. */
export async function clearState(cdp: Cdp): Promise<void> {
  await cdp.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: STORAGE });
}

/**
 * Restores a state in a tab whose state was cleared, before it opens a page.
 * @returns a function that must be called when the first document is displayed: later ones keep what the page stored
 */
export async function restoreState(cdp: Cdp, state: SessionState): Promise<() => void> {
  const source = storageScript(state);
  const [script] = await Promise.all([
    source === null ? null : cdp.send('Page.addScriptToEvaluateOnNewDocument', { source, worldName: WORLD }),
    state.cookies.length === 0 ? null : cdp.send('Network.setCookies', { cookies: state.cookies.map(toSet) }),
  ]);
  return () => {
    if (script !== null) void cdp.send('Page.removeScriptToEvaluateOnNewDocument', script).catch(() => undefined);
  };
}

/** A cookie for one host is set by URL, because the browser takes a domain as permission for its subdomains. */
function toSet({ name, value, domain, path, secure, httpOnly, sameSite, expires, partitionKey }: SessionCookie) {
  return {
    ...{ name, value, path, secure, httpOnly, sameSite, partitionKey },
    ...(domain.startsWith('.') ? { domain } : { url: `${secure ? 'https' : 'http'}://${domain}${path}` }),
    ...(expires !== undefined && expires > 0 && { expires }),
  };
}

/** The cookies of a tab. `Storage.getCookies` would return those of the browser's default context. */
export async function readCookies(cdp: Cdp): Promise<SessionCookie[]> {
  return (await cdp.send('Network.getAllCookies')).cookies;
}

/** A script for the isolated world that restores the storage of a document's origin; null if there is nothing to restore. */
function storageScript({ storage }: SessionState): string | null {
  const saved = storage.filter(({ local, session }) => Object.keys(local).length + Object.keys(session).length > 0);
  if (saved.length === 0) return null;
  return `(() => {
    const saved = window === window.top ? ${JSON.stringify(saved)}.find(({ origin }) => origin === location.origin) : undefined;
    if (saved === undefined) return;
    for (const [area, items] of [[localStorage, saved.local], [sessionStorage, saved.session]]) {
      area.clear();
      for (const [key, value] of Object.entries(items)) area.setItem(key, value);
    }
  })()`;
}
