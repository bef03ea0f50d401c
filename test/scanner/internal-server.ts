import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { createSocket } from 'node:dgram';

/** An internal server that must never be reached. It counts connections and datagrams. */
export async function openInternalServer(): Promise<{ port: number; hits(): number; close(): Promise<void> }> {
  let hits = 0;
  const tcp = createTcpServer((socket) => {
    hits += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4', () => (hits += 1));
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve));
  return {
    port,
    hits: () => hits,
    close: async () => {
      await new Promise<void>((resolve) => udp.close(() => resolve()));
      await new Promise((resolve) => tcp.close(resolve));
    },
  };
}
