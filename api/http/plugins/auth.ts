/**
 * Requires a live API key of an organisation that is not blocked, for every route of the scope that registers it. Routes with
 * `config.session` also accept the session of a user.
 */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Caller } from '../../../core/accounts.ts';
import { isWellFormed } from '../../../stores/accounts/key-format.ts';
import { lacksFactor } from '../../../stores/accounts/sessions.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { ApiError } from '../errors.ts';
import { actAs, checkCaller } from '../../accounts/sessions/require-session.ts';
import { auditNetwork } from '../networks/networks.ts';
import { createCredentials } from '../networks/credentials.ts';
import { checkCsrf } from '../../accounts/sessions/plugin.ts';
import { rateLimited } from './denials.ts';
import { annotate } from './request-log.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A REST route that accepts a dashboard session instead of an API key. */
    session?: boolean;
    /** The scan of the address is read with the key (`scanOf`). */
    withScan?: boolean;
  }
}

/** The scans that were read with the key of a request. */
const scans = new WeakMap<FastifyRequest, ScanRow | null>();

/** Returns the scan of a request's address; null if the caller's organisation has none. */
export async function scanOf(request: FastifyRequest): Promise<ScanRow | null> {
  const { scan_id } = request.params as Required<ScanAddress>;
  annotate(request, { scan: scan_id });
  const read = scans.get(request);
  return read === undefined ? request.server.stores.scans.find(scan_id.toLowerCase(), callerOf(request).organisation.id) : read;
}

interface ScanAddress {
  scan_id?: string;
}

/** Returns the caller of a request. @throws TypeError outside the authenticated scope */
export function callerOf(request: Pick<FastifyRequest, 'caller'>): Caller {
  if (request.caller === null) throw new TypeError('callerOf was called outside the authenticated scope');
  return request.caller;
}

/** Returns the id of the key that sent a request. @throws TypeError on a route that accepts sessions */
export function keyIdOf({ actor }: Caller): string {
  if (actor.kind !== 'key') throw new TypeError('keyIdOf was called for a request without an API key');
  return actor.keyId;
}

const auth: FastifyPluginAsync = async (scope) => {
  const { stores, settings, networkLimits: limits } = scope;
  const credentials = createCredentials({ store: stores.keys, wellFormed: isWellFormed, limits });
  // Looked up on every request, so that a revocation takes effect immediately.
  checkCaller(scope, async (request, reply) => {
    const secret = request.headers['x-api-key'];
    // A wrong key is refused also if there is a session: the sender wanted to use the key.
    if (secret === undefined && settings.dashboard && request.routeOptions.config.session === true) {
      const signedIn = await scope.readSession(request);
      if (signedIn?.membership) {
        actAs(request, signedIn, signedIn.membership);
        if (signedIn.membership.organisation.blocked) throw new ApiError('account_blocked');
        if (lacksFactor(signedIn)) throw new ApiError('second_factor_required');
        return checkCsrf(request);
      }
    }
    if (typeof secret !== 'string') throw new ApiError('invalid_api_key');
    const { scan_id } = request.params as ScanAddress;
    const scan = request.routeOptions.config.withScan ? scan_id?.toLowerCase() : undefined;
    const checked = await credentials.check(secret, request.address, scan);
    if (!checked.ok) throw checked.reason === 'invalid' ? new ApiError('invalid_api_key') : rateLimited(reply, checked);
    const { key, organisation, scan: row } = checked.holder;
    if (row !== undefined) scans.set(request, row);
    const { id: keyId, scopes, expiresAt, rootCreator, test, limit } = key;
    const cap = limit && { cap: limit.role };
    request.caller = { organisation, actor: { kind: 'key', keyId, scopes, expiresAt, rootCreator, ...cap, test } };
    annotate(request, { organisation: organisation.id, key: key.id });
    if (organisation.blocked) throw new ApiError('account_blocked');
    stores.keys.touch({ id: key.id, organisation: organisation.id, network: auditNetwork(request.address) });
  });
};

export default fp(auth, { name: 'auth', dependencies: ['request-log', 'sessions'] });
