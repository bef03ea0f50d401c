/**
 * Retryable writes of a replica set: a write that a client repeats with the same session and transaction number, because
 * its answer was lost, is not executed again.
 */
import { keyOf, type Doc } from '../values.ts';

/** More sessions than any test or developer has. */
const SESSIONS_MAX = 10_000;

/** Returns a function that executes a command, or returns the answer that it had before. */
export function openRetries(): (command: Doc, execute: () => Doc) => Doc {
  const last = new Map<string, { number: string; answer: Doc }>();
  return (command, execute) => {
    const { lsid, txnNumber } = command;
    if (txnNumber === undefined) return execute();
    const [session, number] = [keyOf(lsid), keyOf(txnNumber)];
    const before = last.get(session);
    if (before?.number === number) return before.answer;
    // A write that fails is not remembered: repeated, it may succeed.
    const answer = execute();
    last.delete(session);
    last.set(session, { number, answer });
    if (last.size > SESSIONS_MAX) last.delete(last.keys().next().value!);
    return answer;
  };
}
