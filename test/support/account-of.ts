/** An account as the service recognises it in a session. */
import type { Db } from 'mongodb';

/** Returns the address of a user with the current generation. */
export async function accountOf(db: Db, email: string): Promise<{ email: string; generation: string }> {
  const user = await db.collection<{ _id: string; generation: string }>('users').findOne({ _id: email });
  return { email, generation: user!.generation };
}
