/** Accepts only JSON request bodies, validates them without type conversion, and sends responses unchanged. */
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import { compileValidator } from '../validation.ts';

const jsonBodies: FastifyPluginAsync = async (app) => {
  app.setValidatorCompiler(compileValidator);
  // Fastify's serializer drops and converts fields silently. Instead, the tests check every response against its schema.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    // An empty body counts as no body.
    if (body.length === 0) done(null, undefined);
    else void parse(request, body, done);
  });
};

export default fp(jsonBodies, { name: 'json-bodies' });
