/** Free ports on loopback. */
import { createServer } from 'node:net';

/** A free port: `preferred` if possible. */
export async function freePort(preferred = 0): Promise<number> {
  const attempt = (port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const probe = createServer();
      probe.once('error', reject);
      probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
        const { port: found } = probe.address() as { port: number };
        probe.close(() => resolve(found));
      });
    });
  return preferred === 0 ? attempt(0) : attempt(preferred).catch(() => attempt(0));
}
