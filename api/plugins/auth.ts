/** Lets only live keys of organisations that are not blocked into a scope. */
import type { Api } from '../api.ts';
import type { ApiStores } from '../dependencies.ts';
import { ApiError } from '../errors.ts';

/** Everything that is registered in `scope` from now on needs an API key. Keys are looked up each time: a revocation holds at once. */
export function requireKey(scope: Api, { keys, organisations }: Pick<ApiStores, 'keys' | 'organisations'>): void {
  scope.addHook('onRequest', async (request) => {
    const secret = request.headers['x-api-key'];
    const key = typeof secret === 'string' ? await keys.recognise(secret) : null;
    const organisation = key && (await organisations.find(key.organisation));
    if (!key || !organisation) throw new ApiError('invalid_api_key');
    request.caller = { organisation, keyId: key.id };
    if (request.notes) Object.assign(request.notes, { organisation: organisation.id, key: key.id });
    if (organisation.blocked) throw new ApiError('account_blocked');
    keys.touch(key.id);
  });
}
