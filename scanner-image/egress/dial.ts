/** Connects to the allowed addresses of a host. */
import { connect, type Socket } from 'node:net';
import { pinnedLookup } from '../../platform/pinned-lookup.ts';

/**
 * Connects to a host at its allowed addresses.
 * @throws Error with the code `ETIMEDOUT` after `timeoutMs`, or the error of the socket
 */
export function dial(host: string, port: number, addresses: readonly string[], timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, lookup: pinnedLookup(addresses), autoSelectFamily: true, noDelay: true });
    const expire = (): void => void socket.destroy(Object.assign(new Error(`no connection within ${timeoutMs} ms`), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(expire, timeoutMs);
    socket.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      resolve(socket);
    });
  });
}
