/**
 * Makes a scope one of pages: form bodies, cookies, pages for errors, and no forms of other sites. Register it in the
 * scope.
 */
import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isSafe } from '../accounts/sessions/plugin.ts';
import { ApiError } from '../http/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers with pages, also for errors. */
    page?: boolean;
    /** The route also accepts what other sites send. */
    crossSite?: boolean;
  }
}

/** Far above the largest valid form. */
const FORM_LIMIT_BYTES = 32 * 1024;

const htmlScope: FastifyPluginAsync = async (app) => {
  app.removeAllContentTypeParsers();
  await app.register(formbody, { bodyLimit: FORM_LIMIT_BYTES });
  if (!app.hasRequestDecorator('cookies')) await app.register(cookie);
  app.addHook('onRequest', refuseCrossSite);
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, page: true };
    route.schema = { ...route.schema, hide: true };
  });
};

export default fp(htmlScope, { name: 'html-scope', dependencies: ['web', 'errors'] });

/**
 * Refuses forms that other sites send: a visitor's browser must not request scans or mails for them. Programs and old browsers
 * send no Sec-Fetch-Site, and are accepted.
 * @throws ApiError `cross_site_request`
 */
export async function refuseCrossSite(request: FastifyRequest): Promise<void> {
  if (isSafe(request) || request.routeOptions.config.crossSite) return;
  if (request.headers['sec-fetch-site'] === 'cross-site') throw new ApiError('cross_site_request');
}

/** The fields of a form. */
export interface Form {
  /** The value of a field without space around it; empty if the field is missing. Of several, the first. */
  text(name: string): string;
  /** The value of a field as it was sent, for passwords. */
  exact(name: string): string;
  /** Every value of a field. */
  all(name: string): string[];
}

export function formOf(body: unknown): Form {
  const fields = new Map(Object.entries((body ?? {}) as Record<string, unknown>));
  const all = (name: string): string[] => [fields.get(name)].flat().filter((value) => typeof value === 'string');
  const exact = (name: string): string => all(name)[0] ?? '';
  return { all, exact, text: (name) => exact(name).trim() };
}
