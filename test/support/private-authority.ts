/** A private certificate authority for tests, and TLS in front of servers without it. */
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeCertificate, type KeyPair } from '../../local/kube/credentials/certificate.ts';

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

/** Accepts TLS on loopback and passes the bytes to a port. */
export async function startTlsFront(port: number, { key, certificate }: KeyPair): Promise<TlsFront> {
  const sockets = new Set<Socket>();
  const server = createServer({ key, cert: certificate }, (client) => {
    const plain = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [client, plain],
      [plain, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).on('close', () => (sockets.delete(one), other.destroy()));
    }
    client.pipe(plain).pipe(client);
  });
  // A client that does not trust the certificate closes the connection.
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
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
