/**
 * Adds `Idempotency-Key` to every POST of the REST API: the header and its answers in the OpenAPI document, and the repetition
 * of the first response. A route that can derive its response from what it created does this itself, and says so with
 * `config.idempotency: 'own'`.
 *
 * If the process dies between the work and the end of the response, the next request with the key does the work again, with
 * the same `request.idempotent.resourceId`. A route that creates something uses it as the ID, so that it creates one thing.
 */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import type { Idempotency, OwnedClaim } from '../../../stores/submissions/idempotency.ts';
import { bestEffort } from '../../../platform/logger.ts';
import { LEASE_SECONDS } from '../../scans/submission/submission.ts';
import { documentIdempotency } from '../idempotency/document.ts';
import { claimError, idempotencyKeyOf, recordOf, requestFingerprint, senderOf } from '../idempotency/request.ts';
import { seal, unseal, type StoredResponse } from '../idempotency/sealed-response.ts';
import { rateLimited, rateLimitHeaders } from './denials.ts';
import { annotate } from './request-log.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers repeated requests itself. */
    idempotency?: 'own';
  }
  interface FastifyRequest {
    /**
     * The claim of the request's Idempotency-Key: the ID of what it creates, and whether an earlier request with the key may
     * have created it. Null without the header, and in routes that answer repeated requests themselves.
     */
    idempotent: Pick<OwnedClaim, 'resourceId' | 'takenOver'> | null;
  }
}

/** The other headers belong to a request, not to its response. */
const STORED_HEADERS = ['content-type', 'location', 'retry-after'];

interface Claimed {
  claim: OwnedClaim;
  store: Idempotency;
}

const idempotency: FastifyPluginAsync = async (app) => {
  const fingerprints = new WeakMap<FastifyRequest, string>();
  const claims = new WeakMap<FastifyRequest, Claimed>();
  app.decorateRequest('idempotent', null);

  async function fingerprint(request: FastifyRequest): Promise<void> {
    if (idempotencyKeyOf(request) !== undefined) fingerprints.set(request, requestFingerprint(`POST ${request.url}`, request));
  }

  async function claimOrReplay(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const key = idempotencyKeyOf(request);
    if (key === undefined) return undefined;
    const { idempotency: store } = request.caller === null ? app.anonymousStores : app.stores;
    // Before anything is written for a stranger.
    const admitted = request.caller === null ? app.networkLimits.admit('idempotency-keys', request.ip) : null;
    if (admitted?.ok === false) throw rateLimited(reply, admitted);
    if (admitted !== null) reply.headers(rateLimitHeaders(admitted.states));
    const claimed = await store.claim({
      ...recordOf(request, key),
      fingerprint: fingerprints.get(request)!,
      resourceId: randomUUID(),
      leaseSeconds: LEASE_SECONDS,
    });
    if (claimed.ok) {
      claims.set(request, { claim: claimed.claim, store });
      request.idempotent = claimed.claim;
      return undefined;
    }
    if (claimed.reason === 'reused' || claimed.response === null) throw claimError(claimed);
    annotate(request, { replayed: true });
    const { status, headers, body } = unseal(claimed.response, secretOf(request, key), claimed.salt);
    return reply
      .code(status)
      .headers({ ...headers, 'Idempotent-Replayed': 'true' })
      .send(body ?? undefined);
  }

  async function store(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<void> {
    const claimed = claims.get(request);
    if (claimed === undefined) return;
    claims.delete(request);
    const { claim } = claimed;
    const log = app.logger.child({ request: request.id, organisation: claim.organisation });
    await bestEffort('an idempotency key stays claimed until its lease ends', log, () => {
      const { statusCode } = reply;
      // A refusal did nothing, so the key may be used for another request. After a failure, what the request creates may exist.
      if (statusCode >= 500) return claimed.store.release(claim);
      if (statusCode >= 400) return claimed.store.remove(claim);
      const response = responseOf(reply, payload);
      return claimed.store.complete(claim, seal(response, secretOf(request, idempotencyKeyOf(request)!), claim.salt));
    });
  }

  app.addHook('onRoute', (route) => {
    if (!isRestPost(route) || route.config?.idempotency === 'own') return;
    documentIdempotency(route);
    route.preValidation = [...[route.preValidation ?? []].flat(), fingerprint];
    route.preHandler = [...[route.preHandler ?? []].flat(), claimOrReplay];
    route.onSend = [...[route.onSend ?? []].flat(), store];
  });
};

const isRestPost = ({ url, method, schema }: RouteOptions): boolean =>
  url.startsWith('/v1/') && [method].flat().includes('POST') && schema?.hide !== true;

const secretOf = (request: FastifyRequest, key: string): string => `${senderOf(request).credential}\n${key}`;

function responseOf(reply: FastifyReply, payload: unknown): StoredResponse {
  if (payload != null && typeof payload !== 'string') throw new TypeError('the response of a POST is no text');
  const headers = STORED_HEADERS.flatMap((name) => {
    const value = reply.getHeader(name);
    return value === undefined ? [] : [[name, String(value)]];
  });
  return { status: reply.statusCode, headers: Object.fromEntries(headers) as Record<string, string>, body: payload ?? null };
}

export default fp(idempotency, { name: 'idempotency', dependencies: ['request-log', 'sessions', 'networks'] });
