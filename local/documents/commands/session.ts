/** The session of a command. */
import type { Cursors } from './cursors.ts';
import type { Faults } from './faults.ts';
import type { Store } from '../storage/store.ts';
import type { Doc } from '../values.ts';

export interface ReplicaSet {
  name: string;
  /** The address of this member. */
  member: string;
  /** Executes a write, unless it is a repeated one. */
  once: (command: Doc, execute: () => Doc) => Doc;
}

export interface Connection {
  id: number;
  /** The name that the client gives itself in its first command. */
  appName: unknown;
}

/** What a command can access. */
export interface Session {
  store: Store;
  cursors: Cursors;
  /** The set that the server is the only member of, and its retryable writes; null for a standalone server. */
  replicaSet: ReplicaSet | null;
  /** Null: the server has no test commands. */
  faults: Faults | null;
  /** The server's clock at the start of the command. */
  now: Date;
  database: string;
  connection: Connection;
}

export type Commands = Readonly<Record<string, (command: Doc, session: Session) => Doc>>;
