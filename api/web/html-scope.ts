/**
 * Makes a scope one of pages: form bodies, cookies, pages for errors, and no forms of other sites. Register it in the
 * scope.
 */
import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import { refuseCrossSite } from '../http/plugins/cross-site.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers with pages, also for errors. */
    page?: boolean;
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
