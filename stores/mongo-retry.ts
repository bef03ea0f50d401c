/** Retries single-document operations that lost a race, and splits those that the driver cannot retry. */
import type { Collection, Document, Filter, MongoBulkWriteError, OptionalUnlessRequiredId } from 'mongodb';
import { retry } from '../platform/concurrency/retry.ts';

/** Returns whether a unique key already has the value. Checks only the code, because not every engine sets `keyPattern`. */
export function isDuplicate(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 11000;
}

/** Inserts a document unless one of its unique keys is taken. @returns whether it was inserted */
export async function insertNew<T extends Document>(collection: Collection<T>, document: OptionalUnlessRequiredId<T>): Promise<boolean> {
  try {
    await collection.insertOne(document);
    return true;
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    return false;
  }
}

/** Inserts those documents in one command whose unique keys are not taken. @returns the positions of the others */
export async function insertMissing<T extends Document>(
  collection: Collection<T>,
  documents: OptionalUnlessRequiredId<T>[],
): Promise<Set<number>> {
  if (documents.length === 0) return new Set();
  try {
    await collection.insertMany(documents, { ordered: false });
    return new Set();
  } catch (error) {
    const failures = [(error as Partial<MongoBulkWriteError>).writeErrors ?? []].flat();
    if (!isDuplicate(error) || !failures.every(isDuplicate)) throw error;
    return new Set(failures.map(({ index }) => index));
  }
}

/** Returns whether two writers changed one document at the same time, and this one must retry (MongoDB's WriteConflict). */
function isWriteConflict(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 112;
}

/**
 * Retries an upsert or a guarded update that lost a race. Two upserts of one `_id` may both try to insert; on the retry,
 * the loser finds the winner's document. Use it only for operations that may run twice.
 * @throws the operation's last error after `attempts` attempts
 */
export const retryRace = <T>(operation: () => Promise<T>, attempts = 8): Promise<T> =>
  retry(operation, { attempts, retries: (error) => isDuplicate(error) || isWriteConflict(error) });

/** Deletes the documents that match now, one by one: the driver repeats no deletion of several documents after a failover. */
export async function deleteEach<T extends Document>(collection: Collection<T>, filter: Filter<T>): Promise<void> {
  const found = await collection.find(filter, { projection: { _id: 1 } }).toArray();
  const each = found.map(({ _id }) => ({ deleteOne: { filter: { _id } as Filter<T> } }));
  if (each.length > 0) await collection.bulkWrite(each, { ordered: false });
}
