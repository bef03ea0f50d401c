import type { KeyCreator } from '../../core/accounts.ts';
import type { ApiKey, KeyRequest, Keys } from '../../stores/accounts/keys.ts';

/** The creator of keys whose creator does not matter. */
export const TEST_CREATOR: KeyCreator = { createdBy: 'curbcut-admin', rootCreator: 'curbcut-admin' };

/** Issues a key. @throws if the organisation has too many */
export async function issueKey(
  keys: Pick<Keys, 'issue'>,
  organisation: string,
  { name = 'test', ...rest }: Partial<Omit<KeyRequest, 'organisation'>> = {},
): Promise<{ key: ApiKey; secret: string }> {
  const issued = await keys.issue({ expiresAt: null, creator: TEST_CREATOR, ...rest, organisation, name });
  if (!issued.ok) throw new Error(issued.reason);
  return issued;
}
