/**
 * Runs checks of passwords. Those from networks that the account does not know wait for a place of their own. So an attacker keeps
 * neither the users of an installation from signing in, nor the processors from requests with a key.
 */
import { createSemaphore } from '../../../platform/concurrency/semaphore.ts';
import { PASSWORD_WAIT_MS } from '../../../stores/accounts/passwords.ts';
import type { Users } from '../../../stores/accounts/users.ts';
import { networkOf, networksOf } from './networks.ts';
import { createSharedLookups } from './credentials.ts';

/** `perKey`: of one /24 of IPv4 or one /48 of IPv6, so that no network takes all places. */
const STRANGERS = { held: { total: 1, perKey: 1 }, pending: { total: 21, perKey: 2 } };

export function createPasswordChecks(users: Pick<Users, 'networksOf'>) {
  const strangers = createSemaphore(STRANGERS);
  const networks = createSharedLookups((emails) => users.networksOf(emails));
  return {
    /**
     * Returns whether the user of an e-mail address signed in from the network of a client lately.
     * @param options.last whether it is looked up after all others
     */
    known: async (email: string, address: string, options: { last: boolean }): Promise<boolean> =>
      ((await networks.find(email, options)) ?? []).includes(networkOf(address)),
    /**
     * Runs the check of a password.
     * @param attempt.known whether the account knows the network
     * @throws TooBusy if too many checks wait
     */
    run: <T>({ known, address }: { known: boolean; address: string }, check: () => Promise<T>) =>
      known ? check() : strangers.run(networksOf(address).at(-1) ?? '', check, AbortSignal.timeout(PASSWORD_WAIT_MS)),
  };
}
