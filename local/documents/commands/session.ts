/** The session of a command. */
import type { Cursors } from './cursors.ts';
import type { Store } from '../storage/store.ts';
import type { Doc } from '../values.ts';

/** What a command can access. */
export interface Session {
  store: Store;
  cursors: Cursors;
  /** The server's clock at the start of the command. */
  now: Date;
  database: string;
  connectionId: number;
}

export type Commands = Readonly<Record<string, (command: Doc, session: Session) => Doc>>;
