/** The table of supported commands. */
import { READ_COMMANDS } from './read.ts';
import { WRITE_COMMANDS } from './write.ts';
import { CommandError } from '../errors.ts';
import type { Commands, Session } from './session.ts';
import type { Doc } from '../values.ts';

/** Wire version 9 is MongoDB 4.4. */
const hello = (_: Doc, { now, connectionId }: Session): Doc => ({
  helloOk: true,
  isWritablePrimary: true,
  ismaster: true,
  maxBsonObjectSize: 16 * 1024 * 1024,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  localTime: now,
  logicalSessionTimeoutMinutes: 30,
  connectionId,
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
  buildInfo: () => ({
    version: '4.4.0',
    versionArray: [4, 4, 0, 0],
    gitVersion: 'embedded',
    modules: ['curbcut-embedded'],
    maxBsonObjectSize: 16 * 1024 * 1024,
  }),
  buildinfo: (command, session) => COMMANDS['buildInfo']!(command, session),
  endSessions: () => ({}),
  abortTransaction: noTransactions,
  commitTransaction: noTransactions,
};

/** Runs one command. Never throws. @returns the response; `ok: 0` with a code if the command failed */
export function answer(command: Doc, session: Session): Doc {
  const name = Object.keys(command)[0] ?? '';
  try {
    const run = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (run === undefined) throw new CommandError(59, `no such command: '${name}'`);
    if (command['startTransaction'] === true || command['autocommit'] === false) noTransactions();
    if (command['collation'] !== undefined)
      throw new CommandError(115, "The option 'collation' is not supported by the embedded document store.");
    const result = run(command, session);
    return { ...result, ok: 1 };
  } catch (error) {
    if (error instanceof CommandError)
      return { ok: 0, errmsg: error.message, code: error.code, codeName: error.codeName, ...error.details };
    return { ok: 0, errmsg: `${name}: ${(error as Error).message}`, code: 8, codeName: 'UnknownError' };
  } finally {
    session.store.settle();
  }
}
