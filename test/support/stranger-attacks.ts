/** Requests that strangers from many networks send, for the test and the benchmark of an attack. */
import { randomBytes } from 'node:crypto';
import type { Dispatcher } from 'undici';
import { makeKey } from '../../stores/accounts/key-format.ts';

/** What the browser of any stranger gets with a sign-in page. */
export interface StrangersForm {
  /** The CSRF token, and the cookie that it belongs to. */
  token: string;
  cookie: string;
  /** The name of the cookie of sessions. */
  session: string;
}

interface Attack {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  fields?: Record<string, string>;
}

/** The mailbox that strangers aim mails at, with other tags and without. */
export const VICTIM = 'victim@example.com';

/** The address of a network, with a port, as some proxies write it. Half of them are a /24 of IPv4, half a /48 of IPv6. */
export function strangersAddress(network: number): string {
  const half = network >> 1;
  const port = 1024 + (network % 60_000);
  return network % 2 === 0 ? `${11 + (half >> 8)}.${half & 255}.7.9:${port}` : `[2001:db8:${half.toString(16)}::1]:${port}`;
}

const token = (): string => randomBytes(32).toString('base64url');

function attackOf(network: number, form: StrangersForm): Attack {
  const post = (path: string, fields: Record<string, string>) => (): Attack => ({
    method: 'POST',
    path,
    headers: { cookie: form.cookie },
    fields: { _csrf: form.token, ...fields },
  });
  const get = (path: string) => (): Attack => ({ method: 'GET', path });
  const cookie = (): Attack => ({ method: 'GET', path: '/dashboard', headers: { cookie: `${form.session}=${token()}` } });
  const key = (): Attack => ({ method: 'GET', path: '/v1/billing/credits', headers: { 'x-api-key': makeKey(randomBytes) } });
  const attacks: (() => Attack)[] = [
    post('/dashboard/sign-in', { email: `${network}@example.com`, password: 'wrong' }),
    post('/dashboard/sign-in', { email: 'ann@example.com', password: `wrong ${network}` }),
    get('/dashboard/sign-in/oidc'),
    post('/scan-request', { url: `https://example.com/${network}`, email: `victim+${network}@example.com` }),
    post('/scan-request', { url: 'https://example.com/', email: `${network}@d${network % 7}.example` }),
    post('/dashboard/reset-password', { email: VICTIM }),
    get(`/scan/${token()}`),
    get(`/v1/public/scan-status/${token()}`),
    get(`/dashboard/invitation/${token()}`),
    get(`/unsubscribe/${token()}`),
    ...Array.from({ length: 5 }, () => [cookie, key]).flat(),
  ];
  return attacks[network % attacks.length]!();
}

/** Sends what the stranger of a network sends. @returns the status and the path, without its token: `404 /scan/:token` */
export async function attack(pool: Dispatcher, network: number, form: StrangersForm): Promise<string> {
  const { method, path, headers, fields } = attackOf(network, form);
  const body = fields && new URLSearchParams(fields).toString();
  const type = body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await pool.request({
    method,
    path,
    body,
    headers: { 'x-forwarded-for': strangersAddress(network), accept: 'text/html', ...type, ...headers },
  });
  await answer.body.dump();
  return `${answer.statusCode} ${path.replace(/[\w-]{43}/, ':token')}`;
}
