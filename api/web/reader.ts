/**
 * Makes the pages of a scope speak the language of the reader: that of the account, else what was chosen in this browser, else what the
 * browser asks for. `?language=de` chooses, and a cookie keeps it. Register it in the scope, before what reads the session.
 */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { preferredLocale } from '../../core/reader.ts';
import { type Locale, LOCALES } from '../../core/scan/locales.ts';
import { inLanguageOf } from '../../report/words/current.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null in scopes whose pages have one language. */
    reader: { locale: Locale } | null;
  }
}

const COOKIE = 'curbcut_language';
const YEAR_SECONDS = 365 * 24 * 3600;

const readLocale = (value: unknown): Locale | null => LOCALES.find((one) => one === value) ?? null;

function localeOf(request: FastifyRequest, reply: FastifyReply): Locale {
  const chosen = readLocale((request.query as { language?: unknown }).language);
  const { options } = request.server.sessionCookies;
  if (chosen !== null) reply.setCookie(COOKIE, chosen, { ...options, path: '/dashboard', maxAge: YEAR_SECONDS });
  return chosen ?? readLocale(request.cookies[COOKIE]) ?? preferredLocale(request.headers['accept-language']);
}

const readersLanguage: FastifyPluginAsync = async (scope) => {
  scope.addHook('onRequest', (request, reply, done) => {
    request.reader = { locale: localeOf(request, reply) };
    inLanguageOf(request.reader, done);
  });
  // Again, because a body is read in the context of its connection.
  scope.addHook('preValidation', (request, _reply, done) => inLanguageOf(request.reader!, done));
};

export default fp(readersLanguage, { name: 'reader', dependencies: ['web'] });
