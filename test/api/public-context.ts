/** What the tests of public scans share. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { PublicScanOptions } from '../../api/public/settings.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { ApiContext } from './context.ts';
import type { Replica, Request, Response } from './replica.ts';

export const PUBLIC_SCANS: PublicScanOptions = {
  maxLive: 50,
  maxRunning: 2,
  perAddressAndHour: 5,
  perAddressAndDay: 20,
  perEmailAndHour: 3,
  perDomainAndHour: 100_000,
  perHour: 100_000,
  retentionDays: 30,
  turnstile: null,
};

/** Proxies in front of the replica: with X-Forwarded-For, each test is a client of its own. */
export const BEHIND_PROXY = { trustedProxies: ['127.0.0.1/32', '::1/128'] };

/** A client of its own, by its address. */
export function client(replica: Pick<Replica, 'request'>, address = newAddress()) {
  const headers = { 'X-Forwarded-For': address };
  const send = (method: string, path: string, request: Request = {}) =>
    replica.request(method, path, { ...request, headers: { ...headers, ...request.headers } });
  return {
    address,
    ask: (body: object = {}): Promise<Response> =>
      send('POST', '/v1/public/scan-request', { body: { url: 'https://example.com/', email: newEmail(), ...body } }),
    post: (request: Request) => send('POST', '/v1/public/scan-request', request),
    status: (token: string, query = '') => send('GET', `/v1/public/scan-status/${token}${query}`),
  };
}

export const newEmail = (): string => `${randomUUID().slice(0, 8)}@example.com`;
/** In the canonical spelling, which has no zeros at the start of a group. */
const newAddress = (): string =>
  new URL(`http://[2001:db8:${randomUUID().slice(0, 4)}:${randomUUID().slice(0, 4)}::1]/`).hostname.slice(1, -1);

/** The token of a request that was accepted. */
export function tokenOf(response: Response): string {
  expect(response.status, response.text).to.equal(200);
  return response.body.token as string;
}

/** The row of a public scan. */
export async function rowOf(context: ApiContext, token: string): Promise<ScanRow> {
  const found = await context.stores.publicScans.findByToken(token);
  const row = found && (await context.stores.scans.find(found.scanId));
  if (row === null) throw new Error(`no row of the token ${token}`);
  return row;
}
