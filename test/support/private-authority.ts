/** A private certificate authority for tests, and TLS in front of servers without it. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls';
import { makeCertificate, type KeyPair } from '../../local/kube/credentials.ts';

export interface PrivateAuthority {
  /** The certificate of the authority, as PEM. */
  bundle: string;
  /** A key, and a certificate for these hosts. Default: those of loopback. */
  issue(hosts?: readonly string[], now?: Date): KeyPair;
}

export function createAuthority(name: string): PrivateAuthority {
  const issuer = makeCertificate([], new Date(), { name });
  return {
    bundle: issuer.certificate,
    issue: (hosts = ['127.0.0.1', 'localhost'], now = new Date()) => makeCertificate(hosts, now, { name: 'server', issuer }),
  };
}

export interface TlsFront {
  port: number;
  close(): Promise<void>;
}

/**
 * Accepts TLS and passes the bytes to a port of the same address.
 * @param options.host default: loopback
 * @param options.greeting what a client gets in plain text before TLS begins, as with NATS, from the first bytes of the server
 */
export async function startTlsFront(
  port: number,
  { key, certificate }: KeyPair,
  { host = '127.0.0.1', greeting }: { host?: string; greeting?: (first: string) => string } = {},
): Promise<TlsFront> {
  const sockets = new Set<Socket>();
  const keep = (one: Socket, other: () => Socket): void => {
    sockets.add(one);
    // A client that does not trust the certificate closes the connection.
    one.on('error', () => other().destroy()).on('close', () => (sockets.delete(one), other().destroy()));
  };
  const server = createServer((client) => {
    const plain = connect(port, host);
    keep(client, () => plain);
    keep(plain, () => client);
    const begin = (): void => {
      const secure = new TLSSocket(client, { isServer: true, key, cert: certificate });
      keep(secure, () => plain);
      secure.pipe(plain).pipe(secure);
    };
    if (greeting === undefined) return begin();
    void once(plain, 'data').then(([first]) => {
      plain.pause();
      client.write(greeting(String(first)), begin);
    }, () => undefined); // prettier-ignore
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Restores the authorities that this process trusts after each test of the current suite. */
export function restoreAuthorities(): void {
  let earlier: string[];
  beforeEach(() => (earlier = getCACertificates('default')));
  afterEach(() => setDefaultCACertificates(earlier));
}
