/** Gives an account to the person who has proved to own its address. */
import type { Db, Filter, UpdateFilter } from 'mongodb';
import { removeFactors } from './second-factors.ts';
import type { UserDocument } from './user-document.ts';

/**
 * Changes an account so that it belongs to the person who has proved to own its address, and removes the second factors of the
 * person who had it before: a passkey would still open it. They are removed before the change, because the process may die after
 * it, and after it, because one may be added meanwhile.
 * @param account matches the account while it can be given away
 * @returns the changed account; null if none matches, and then nothing was changed
 */
export async function giveAccount(
  db: Db,
  account: Filter<UserDocument> & { _id: string },
  change: UpdateFilter<UserDocument>,
): Promise<UserDocument | null> {
  const users = db.collection<UserDocument>('users');
  if ((await users.findOne(account)) === null) return null;
  await removeFactors(db, account._id);
  const given = await users.findOneAndUpdate(account, change, { returnDocument: 'after' });
  if (given !== null) await removeFactors(db, account._id);
  return given;
}
