/** Connects to exactly the allowed addresses. A name is never resolved again, because its addresses may have changed. */
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';

/** A lookup function for Node's sockets that returns the allowed addresses. Node's Happy Eyeballs chooses among them. */
export function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    const first = all[0];
    if (first === undefined) callback(Object.assign(new Error('no allowed address'), { code: 'ENOTFOUND' }), '', 0);
    else if (options.all) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

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
