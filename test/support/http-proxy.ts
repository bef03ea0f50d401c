/** An HTTP proxy with credentials on loopback, which records what it is asked for. It reaches every host on loopback. */
import { createServer, request as httpRequest } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

export interface TestProxy {
  /** With the credentials. */
  url: string;
  /** `CONNECT host:port`, or the method and address of a plain request. */
  asked: string[];
  /** Replaces the credentials that it accepts. */
  accept(password: string): void;
  /** Hosts that it refuses with 403. */
  refused: Set<string>;
  close(): Promise<void>;
}

export async function startProxy(): Promise<TestProxy> {
  const asked: string[] = [];
  const refused = new Set<string>();
  const sockets = new Set<Duplex>();
  let password = 'hush';
  /** The status that a request is refused with, or 0. */
  const refusalOf = (authorization: string | undefined, host: string): number => {
    const wanted = `Basic ${Buffer.from(`curbcut:${password}`).toString('base64')}`;
    return authorization !== wanted ? 407 : refused.has(host) ? 403 : 0;
  };
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const target = new URL(request.url ?? '');
    const status = refusalOf(request.headers['proxy-authorization'], target.hostname);
    if (status > 0)
      return void response.writeHead(status, { 'proxy-authenticate': 'Basic', 'x-squid-error': 'ERR_ACCESS_DENIED 0' }).end('refused');
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const onward = httpRequest(
      { host: '127.0.0.1', port: target.port || 80, method: request.method, path: target.pathname + target.search, headers },
      (answer) => {
        const via = [answer.headers.via, '1.1 proxy.example'].filter(Boolean).join(', ');
        answer.pipe(response.writeHead(answer.statusCode!, { ...answer.headers, via }));
      },
    );
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  server.on('connect', (request, client: Duplex) => {
    asked.push(`CONNECT ${request.url}`);
    const { hostname, port } = new URL(`http://${request.url}`);
    const status = refusalOf(request.headers['proxy-authorization'], hostname);
    client.on('error', () => undefined);
    if (status > 0) return void client.end(`HTTP/1.1 ${status} Refused\r\n\r\n`);
    const onward = connect(Number(port || 80), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(onward).pipe(client);
    });
    for (const one of [client, onward]) sockets.add(one);
    onward.on('error', () => client.destroy());
    client.on('close', () => onward.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://curbcut:hush@127.0.0.1:${port}`,
    asked,
    accept: (next) => (password = next),
    refused,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
