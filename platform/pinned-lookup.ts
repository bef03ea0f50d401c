/** Connects to exactly the allowed addresses. A name is never resolved again, because its addresses may have changed. */
import { isIP, type LookupFunction } from 'node:net';

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
