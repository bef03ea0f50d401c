/**
 * Adds `Idempotency-Key` to every POST of the REST API: the header and its answers in the OpenAPI document, and the repetition
 * of the first response. A route that can derive its response from what it created does this itself.
 *
 * If the process dies between the work and the end of the response, the next request with the key does the work again, with
 * the same `request.idempotent.resourceId`. A route that creates something uses it as the ID, so that it creates one thing.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import { auditName } from '../../../core/accounts.ts';
import { ANONYMOUS } from '../../../core/organisation.ts';
import { bestEffort } from '../../../platform/logger.ts';
import type { Claim, Idempotency, OwnedClaim, Repetition } from '../../../stores/submissions/idempotency.ts';
import { fingerprintOf } from '../../scans/submission/fingerprint.ts';
import { errorOf, LEASE_SECONDS } from '../../scans/submission/submission.ts';
import { ApiError, type ValidationFailure } from '../errors.ts';
import { networkOf } from '../networks/networks.ts';
import { HEADERS, idempotencyKeyHeader, refusals } from '../responses.ts';
import { rateLimited, rateLimitHeaders } from './denials.ts';
import { annotate } from './request-log.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `own`: the route answers repeated requests itself. `secret`: a response holds a secret that is shown once, so it is not
     * stored, and the route throws `alreadyCreated` if an interrupted request has done the work.
     */
    idempotency?: 'own' | 'secret';
  }
  interface FastifyRequest {
    /**
     * The claim of the request's Idempotency-Key: the ID of what it creates, and whether an earlier request with the key may
     * have created it. Null without the header, and in routes that answer repeated requests themselves. A route whose response
     * names the address of a scan sets `scan`: the response is not kept longer than the scan.
     */
    idempotent: (Pick<OwnedClaim, 'resourceId' | 'takenOver'> & { scan?: string | null }) | null;
  }
}

/** The other headers belong to a request, not to its response. */
const STORED_HEADERS = ['content-type', 'etag', 'location', 'retry-after'];

const MEANINGS = {
  response:
    'For 24 hours, a request with the same key, body and sender returns the first response and does nothing. The same key with ' +
    'another request is rejected.',
  secret:
    'For 24 hours, a request with the same key, body and sender does nothing. Because the secret is shown once, it is answered with ' +
    '`already_created` and the ID. The same key with another request is rejected.',
};

const idempotency: FastifyPluginAsync = async (app) => {
  const fingerprints = new WeakMap<FastifyRequest, string>();
  const claims = new WeakMap<FastifyRequest, { claim: OwnedClaim; store: Idempotency }>();
  app.decorateRequest('idempotent', null);

  async function fingerprint(request: FastifyRequest): Promise<void> {
    if (idempotencyKeyOf(request) !== undefined) fingerprints.set(request, requestFingerprint(request));
  }

  async function claimOrReplay(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    const key = idempotencyKeyOf(request);
    if (key === undefined) return undefined;
    const { idempotency: store } = request.caller === null ? app.anonymousStores : app.stores;
    // Before anything is written for a stranger.
    const admitted = request.caller === null ? app.networkLimits.admit('idempotency-keys', request.address) : null;
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
    if (claimed.reason === 'reused' || claimed.repetition === null) throw claimError(claimed);
    annotate(request, { replayed: true });
    if ('secretOf' in claimed.repetition) throw alreadyCreated(claimed.repetition.secretOf);
    const { status, headers, body } = claimed.repetition;
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
      const repetition = repetitionOf(request, reply, payload);
      if (repetition !== null) return claimed.store.complete(claim, repetition);
      // A refusal did nothing, so the key may be used for another request. After a failure, what the request creates may exist.
      return reply.statusCode >= 500 ? claimed.store.release(claim) : claimed.store.remove(claim);
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

/** The Idempotency-Key of a request. Node joins repeated headers of this name. */
export const idempotencyKeyOf = (request: Pick<FastifyRequest, 'headers'>): string | undefined =>
  request.headers['idempotency-key'] as string | undefined;

/** The error of a repeated request whose first response had a secret. @param id what the first request created or changed */
export const alreadyCreated = (id: string): ApiError => new ApiError('already_created', { fields: { id } });

/** Another sender does not get the response. */
function senderOf({ caller, address }: FastifyRequest): string {
  if (caller === null) return networkOf(address);
  return caller.actor.kind === 'key' ? auditName(caller.actor) : caller.actor.sessionId;
}

/** The name of a record. Each network has keys of its own, because visitors choose the same ones. Hashed, because it has their address. */
function recordOf(request: FastifyRequest, key: string): { organisation: string; key: string } {
  if (request.caller !== null) return { organisation: request.caller.organisation.id, key };
  const hash = createHash('sha256')
    .update(`${senderOf(request)}\n${key}`)
    .digest('hex');
  return { organisation: ANONYMOUS, key: hash };
}

/** The fingerprint of a request. The validation, which adds defaults to the body, must not have run. */
const requestFingerprint = (request: FastifyRequest): string =>
  fingerprintOf({ route: `POST ${request.url}`, sender: senderOf(request), body: fingerprintOf(request.body) });

/** The error of a request whose Idempotency-Key another one holds. */
function claimError(claim: Exclude<Claim, { ok: true }>): ApiError | ValidationFailure {
  if (claim.reason === 'reused') return errorOf({ ok: false, reason: 'idempotency_reused' }, 0);
  const retryAfterSeconds = Math.max(1, Math.ceil(claim.leaseMs / 1000));
  return errorOf({ ok: false, reason: 'idempotency_conflict', retryAfterSeconds }, 0);
}

/** What a repetition of the request gets; null if the request can be sent again. */
function repetitionOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): Repetition | null {
  const { statusCode: status } = reply;
  if (payload != null && typeof payload !== 'string') throw new TypeError('the response of a POST is no text');
  if (request.routeOptions.config.idempotency === 'secret') {
    const { id, detail } = JSON.parse(payload!) as { id: string; detail?: unknown };
    return status < 400 || detail === 'already_created' ? { secretOf: id } : null;
  }
  if (status >= 400) return null;
  const headers = STORED_HEADERS.flatMap((name) => {
    const value = reply.getHeader(name);
    return value === undefined ? [] : [[name, String(value)]];
  });
  const scan = request.idempotent?.scan;
  return { status, headers: Object.fromEntries(headers) as Record<string, string>, body: payload ?? null, ...(scan != null && { scan }) };
}

interface Answer {
  description: string;
  headers?: Record<string, object>;
  content?: Record<string, { examples?: object }>;
}
type Answers = Record<string, Answer>;

/** Adds the header, the errors of a repeated request, and `Idempotent-Replayed` in responses that are repeated. */
function documentIdempotency(route: RouteOptions): void {
  const schema = (route.schema ??= {});
  const secret = route.config?.idempotency === 'secret';
  const headers = (schema.headers ?? {}) as { properties?: object };
  const own = idempotencyKeyHeader(MEANINGS[secret ? 'secret' : 'response']);
  schema.headers = { ...own, ...headers, properties: { ...headers.properties, ...own.properties } };
  // Routes share the parts of their schemas, so these are not changed.
  const answers = { ...(schema.response as Answers | undefined) };
  for (const [status, answer] of Object.entries(answers))
    if (Number(status) < 400 && !secret)
      answers[status] = { ...answer, headers: { ...answer.headers, 'Idempotent-Replayed': HEADERS['Idempotent-Replayed'] } };
  // The rate limits come first in the routes of a caller.
  const limited = route.config?.permission !== undefined;
  const refused = refusals(['idempotency_conflict', ...(secret ? (['already_created'] as const) : [])], { limited }) as Answers;
  for (const [status, answer] of Object.entries(refused))
    answers[status] = status === '409' ? merged(answers[status], answer) : (answers[status] ?? answer);
  schema.response = answers;
}

/** One status has one response in the document, with an example for each code. */
function merged(present: Answer | undefined, added: Answer): Answer {
  if (present === undefined) return added;
  const [[mediaType, content]] = Object.entries(present.content!) as [[string, { examples?: object }]];
  const examples = { ...content.examples, ...added.content![mediaType]!.examples };
  return { ...present, description: `${present.description} Or: ${added.description}`, content: { [mediaType]: { ...content, examples } } };
}

export default fp(idempotency, { name: 'idempotency', dependencies: ['request-log', 'sessions', 'networks'] });
