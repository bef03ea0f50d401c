/** A TCP proxy between a client and a server that simulates network faults. */
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface Proxy {
  readonly port: number;
  /** The number of connections opened so far. */
  readonly opened: number;
  /** Stops forwarding in both directions without closing connections, like a dead network path. New connections freeze too. */
  freeze(): void;
  /** Forwards new connections again; frozen ones stay frozen. */
  thaw(): void;
  /** Closes all connections; new ones work. */
  cut(): void;
  /** Closes all connections and refuses new ones. */
  refuse(): Promise<void>;
  /** Accepts connections again after `refuse`. */
  accept(): Promise<void>;
  close(): Promise<void>;
}

export async function startProxy(host: string, port: number): Promise<Proxy> {
  const pairs = new Set<[Socket, Socket]>();
  const sockets = new Set<Socket>();
  let frozen = false;
  let opened = 0;
  let own = 0;
  let server: Server;

  function join(client: Socket) {
    opened++;
    const upstream = connect(port, host);
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    for (const [one, other] of [pair, [upstream, client] as const]) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        pairs.delete(pair);
        sockets.delete(one);
        if (!frozen) other.destroy();
      });
    }
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => client.write(chunk));
    if (frozen) still(pair);
  }

  function still([client, upstream]: [Socket, Socket]) {
    for (const socket of [client, upstream]) {
      socket.removeAllListeners('data');
      socket.pause();
    }
  }

  function cut() {
    for (const socket of sockets) socket.destroy();
  }

  async function listen() {
    server = createServer(join);
    await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve));
    own = (server.address() as { port: number }).port;
  }

  const unlisten = () => new Promise<void>((resolve) => server.close(() => resolve()));

  await listen();
  return {
    get port() {
      return own;
    },
    get opened() {
      return opened;
    },
    freeze() {
      frozen = true;
      for (const pair of pairs) still(pair);
    },
    thaw() {
      frozen = false;
    },
    cut,
    async refuse() {
      const closed = unlisten();
      cut();
      await closed;
    },
    accept: listen,
    async close() {
      const closed = unlisten();
      cut();
      await closed;
    },
  };
}
