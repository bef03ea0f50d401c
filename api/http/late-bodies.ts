/** Checks callers again whose requests were not complete when they were checked. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/**
 * Runs a check before the body of each request is read, and once more after it if the body was late. A client can send a body
 * slowly for half a minute: a key, a session or a role that ended meanwhile must not act any more.
 * @param check throws, or sends the refusal
 */
export function checkCaller(scope: FastifyInstance, check: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): void {
  const late = new WeakSet<FastifyRequest>();
  scope.addHook('onRequest', async (request, reply) => {
    const answer = await check(request, reply);
    // Asked here, not when the body is read: other hooks wait for the database meanwhile, and what ends then must count too.
    if (!request.raw.complete) late.add(request);
    return answer;
  });
  scope.addHook('preValidation', async (request, reply) => {
    if (!late.has(request)) return undefined;
    request.session = null;
    return check(request, reply);
  });
}
