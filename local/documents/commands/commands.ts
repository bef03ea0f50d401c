/** The table of supported commands. */
import { READ_COMMANDS } from './read.ts';
import { WRITE_COMMANDS } from './write.ts';
import { CommandError } from '../errors.ts';
import type { Commands, Session } from './session.ts';
import type { Doc } from '../values.ts';

/** Wire version 9 is MongoDB 4.4. */
const hello = (_: Doc, { now, connection, replicaSet }: Session): Doc => ({
  ...(replicaSet !== null && {
    setName: replicaSet.name,
    setVersion: 1,
    hosts: [replicaSet.member],
    primary: replicaSet.member,
    me: replicaSet.member,
    secondary: false,
  }),
  helloOk: true,
  isWritablePrimary: true,
  ismaster: true,
  maxBsonObjectSize: 16 * 1024 * 1024,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  localTime: now,
  logicalSessionTimeoutMinutes: 30,
  connectionId: connection.id,
  minWireVersion: 0,
  maxWireVersion: 9,
  readOnly: false,
});

const noTransactions = (): never => {
  // Not the real server's message: the driver would take it for an error of retryable writes.
  throw new CommandError(20, 'The embedded document store does not support transactions.');
};

const COMMANDS: Commands = {
  ...READ_COMMANDS,
  ...WRITE_COMMANDS,
  findandmodify: WRITE_COMMANDS['findAndModify']!,
  hello,
  isMaster: hello,
  ismaster: hello,
  ping: () => ({}),
  endSessions: () => ({}),
  configureFailPoint: (command, { faults }) => {
    if (faults === null) throw new CommandError(59, "no such command: 'configureFailPoint'");
    return faults.configure(command);
  },
  abortTransaction: noTransactions,
  commitTransaction: noTransactions,
};

/**
 * Runs one command. Never throws.
 * @returns the response; `ok: 0` with a code if the command failed; null if the connection must be closed instead
 */
export function answer(command: Doc, session: Session): Doc | null {
  const name = Object.keys(command)[0] ?? '';
  const { connection, faults } = session;
  // Only the first command of a connection, which is a hello, describes the client.
  connection.appName ??= ((command['client'] as Doc | undefined)?.['application'] as Doc | undefined)?.['name'];
  const fault = faults?.next(name, connection.appName) ?? null;
  if (fault === null) return execute(name, command, session);
  const executed = fault.executes ? execute(name, command, session) : {};
  return fault.response && { ...executed, ...fault.response };
}

function execute(name: string, command: Doc, session: Session): Doc {
  try {
    const run = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (run === undefined) throw new CommandError(59, `no such command: '${name}'`);
    if (command['startTransaction'] === true || command['autocommit'] === false) noTransactions();
    if (command['collation'] !== undefined)
      throw new CommandError(115, "The option 'collation' is not supported by the embedded document store.");
    const result = session.replicaSet === null ? run(command, session) : session.replicaSet.once(command, () => run(command, session));
    return { ...result, ok: 1 };
  } catch (error) {
    if (error instanceof CommandError)
      return { ok: 0, errmsg: error.message, code: error.code, codeName: error.codeName, ...error.details };
    return { ok: 0, errmsg: `${name}: ${(error as Error).message}`, code: 8, codeName: 'UnknownError' };
  } finally {
    session.store.settle();
  }
}
