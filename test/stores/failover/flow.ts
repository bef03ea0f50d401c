/** A flow of the product that must end once and exact, whichever of its commands fails. */
import type { Db } from 'mongodb';
import type { Fault, FaultyServer } from './faulty-server.ts';

export interface Flow {
  /** Creates what the flow needs. */
  prepare(): Promise<void>;
  /** What a caller or the operator does, and repeats until it succeeds. @throws if a dependency is down */
  attempt(): Promise<void>;
  /** Whether an error of an attempt means for its caller that the database is unavailable: 503, or the next reconcile. */
  isOutage(error: unknown): boolean;
  /** What happens before the caller repeats, such as the end of a lease. */
  wait?(): Promise<void>;
  /** What is true at the end, apart from times and random IDs. */
  end(): Promise<unknown>;
}

/** @param db the database of the product @param healthy the same database for the test */
export type FlowOf = (db: Db, healthy: Db) => Flow;

export interface Run {
  commands: string[];
  attempts: number;
  /** The commands that failed. */
  failed: number;
  end: unknown;
}

/** One fault cannot make more attempts fail. */
const ATTEMPTS_MAX = 4;

/** Runs a flow on an empty database until it succeeds. @throws an error that is no outage */
export async function run(server: FaultyServer, flowOf: FlowOf, fault: Fault | null): Promise<Run> {
  await server.empty();
  const flow = flowOf(server.db, server.healthy);
  await flow.prepare();
  if (fault !== null) await server.arm(fault);
  let attempts = 0;
  const commands = await server.record(async () => {
    for (;;) {
      attempts += 1;
      try {
        return await flow.attempt();
      } catch (error) {
        if (attempts === ATTEMPTS_MAX || !flow.isOutage(error)) throw error;
        await flow.wait?.();
      }
    }
  });
  const failed = await server.disarm();
  return { commands, attempts, failed, end: await flow.end() };
}
