/** Closes the connection after each response during shutdown, because keep-alive connections would keep the process running. */
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';

const gracefulClose: FastifyPluginAsync = async (app) => {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('Connection', 'close');
  });
};

export default fp(gracefulClose, { name: 'graceful-close' });
