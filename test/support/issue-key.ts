import type { ApiKey, Keys } from '../../stores/accounts/keys.ts';

/** Issues a key. @throws if the organisation has too many */
export async function issueKey(
  keys: Pick<Keys, 'issue'>,
  organisation: string,
  { name = 'test', expiresAt = null }: { name?: string; expiresAt?: Date | null } = {},
): Promise<{ key: ApiKey; secret: string }> {
  const issued = await keys.issue({ organisation, name, expiresAt });
  if (!issued.ok) throw new Error(issued.reason);
  return issued;
}
