/** A receiver of webhooks on loopback that keeps what arrives. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** An answer, or how the receiver misbehaves. */
export type Answer = { status: number; body?: string; headers?: Record<string, string> } | 'hang' | 'drop';

export interface Receiver {
  url: string;
  /** The address as `ALLOW_TARGETS` names it. */
  target: string;
  received: Received[];
  close(): Promise<void>;
}

/** @param answer decides about each request. Default: 204 */
export async function startReceiver(answer: (received: Received) => Answer | Promise<Answer> = () => ({ status: 204 })): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = { path: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() };
      received.push(one);
      void Promise.resolve(answer(one)).then((given) => {
        if (given === 'hang') return;
        if (given === 'drop') return void request.socket.destroy();
        response.writeHead(given.status, given.headers).end(given.body);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    target: `127.0.0.1:${port}`,
    received,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
