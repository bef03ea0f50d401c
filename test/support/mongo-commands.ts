/** Records the commands that a client sends to MongoDB, so that tests can count them. */
import type { CommandStartedEvent, Db } from 'mongodb';
import { withOptions } from './databases.ts';

/** The URL of a database, with command monitoring, which the driver does only on request. */
export function monitored(url: string): string {
  return withOptions(url, { monitorCommands: 'true' });
}

/** The marks by which the leader's tasks find scans. */
const MARKS = ['unannounced', 'unlisted'];

/**
 * The commands from now on, in order, each as its name and collection: `find scans`, or `find scans unlisted` if a task looks for a mark.
 * The client's URL must be `monitored`.
 */
export function recordCommands(db: Db): string[] {
  const commands: string[] = [];
  db.client.on('commandStarted', ({ commandName, command }: CommandStartedEvent) => {
    // The connection's own commands name no collection.
    const collection: unknown = command[commandName];
    if (typeof collection !== 'string') return;
    const mark = MARKS.find((name) => name in ((command['filter'] as object | undefined) ?? {}));
    commands.push([commandName, collection, ...(mark === undefined ? [] : [mark])].join(' '));
  });
  return commands;
}
