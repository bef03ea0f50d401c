/** The peer of `--only html`: a Fastify server with one route that answers a fixed page. Prints its port. */
import Fastify from 'fastify';

const app = Fastify();
const page = `<!doctype html><html lang="en"><title>Static</title><p>${'A page of fixed text. '.repeat(200)}</p></html>`;
app.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(page));
await app.listen({ host: '127.0.0.1', port: 0 });
const { port } = app.server.address() as { port: number };
console.log(port);
