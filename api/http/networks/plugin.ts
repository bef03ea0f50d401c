/**
 * Counts requests without a valid key or session for each network, before anything is looked up. Registered once on the root:
 * routes choose a limit with `config.network`, and handlers that show the refusal themselves call `networkLimits`.
 */
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import { rateLimited, rateLimitHeaders } from '../plugins/denials.ts';
import { annotate } from '../plugins/request-log.ts';
import type { NetworkPolicy } from './network-limits.ts';
import { addressOf, createTrust } from './networks.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The limit of requests of one network. A signed-in user is never refused by it. */
    network?: NetworkPolicy;
  }
}

const UNTRUSTED =
  'X-Forwarded-For from an address that TRUSTED_PROXIES does not have: if it is a proxy, all its clients share the limits of one; this is logged once';

const networks: FastifyPluginAsync = async (app) => {
  const trusted = createTrust(app.settings.trustedProxies);
  let warned = false;
  app.addHook('onRequest', async (request, reply) => {
    const { socket, headers } = request.raw;
    if (!warned && headers['x-forwarded-for'] !== undefined && !trusted(socket.remoteAddress ?? '')) {
      warned = true;
      app.logger.warn({ peer: addressOf(socket.remoteAddress ?? '') }, UNTRUSTED);
    }
    const { network } = request.routeOptions.config;
    if (network === undefined) return;
    const decision = app.networkLimits.admit(network, request.address);
    if (!request.routeOptions.config.page) reply.headers(rateLimitHeaders(decision.states));
    if (decision.ok || (await app.readSession(request)) !== null) return;
    annotate(request, { limit: network });
    throw rateLimited(reply, decision);
  });
};

export default fp(networks, { name: 'networks', dependencies: ['request-log', 'sessions', 'errors'] });
