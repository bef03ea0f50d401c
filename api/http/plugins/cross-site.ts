/** Refuses forms that other sites send: a visitor's browser must not request scans or mails for them. */
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { isSafe } from '../../accounts/sessions/plugin.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route also accepts what other sites send. */
    crossSite?: boolean;
  }
}

/** @throws ApiError `cross_site_request`. Programs and old browsers send no Sec-Fetch-Site, and are accepted. */
export async function refuseCrossSite(request: FastifyRequest): Promise<void> {
  if (isSafe(request) || request.routeOptions.config.crossSite) return;
  if (request.headers['sec-fetch-site'] === 'cross-site') throw new ApiError('cross_site_request');
}
