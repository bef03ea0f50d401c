/** Repeats a single-document operation that lost a race which the database leaves to its clients. */

/** A unique key has the value already. Told by the code alone: not every engine fills in `keyPattern`. */
export function isDuplicate(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 11000;
}

/** Two writers met in one document, and the engine asks the later one to come again (MongoDB's WriteConflict). */
function isWriteConflict(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 112;
}

/**
 * Runs an upsert or a guarded update again where it raced: two upserts of one `_id` may both try to insert, and the
 * loser then finds the winner's document. Only for operations that may be repeated.
 * @throws the operation's last error after `tries` attempts
 */
export async function retryRace<T>(operation: () => Promise<T>, tries = 8): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await operation();
    } catch (error) {
      if (attempt >= tries || !(isDuplicate(error) || isWriteConflict(error))) throw error;
    }
  }
}
