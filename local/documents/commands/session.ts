/** What commands work on. */
import type { Cursors } from './cursors.ts';
import type { Store } from '../storage/store.ts';
import type { Doc } from '../values.ts';

/** What a command works on. */
export interface Session {
  store: Store;
  cursors: Cursors;
  /** The server's clock at the start of the command. */
  now: Date;
  database: string;
  connectionId: number;
}

export type Commands = Readonly<Record<string, (command: Doc, session: Session) => Doc>>;
