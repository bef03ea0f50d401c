/** Opens a connection to exactly the addresses that were vetted, never to whatever a name means a moment later. */
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';

/** A look-up for Node's sockets that knows only the vetted addresses; Node's happy eyeballs choose among them. */
export function vettedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, callback) => {
    const first = all[0];
    if (first === undefined) callback(Object.assign(new Error('no vetted address'), { code: 'ENOTFOUND' }), '', 0);
    else if (options.all) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

/**
 * Dials a host at its vetted addresses.
 * @param timeoutMs after which the attempt is given up with `ETIMEDOUT`
 */
export function dial(host: string, port: number, addresses: readonly string[], timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, lookup: vettedLookup(addresses), autoSelectFamily: true, noDelay: true });
    const giveUp = (): void => void socket.destroy(Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' }));
    const timer = setTimeout(giveUp, timeoutMs);
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
