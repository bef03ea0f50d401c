/**
 * An in-memory document store for one machine that speaks MongoDB's wire protocol and answers the product's commands as
 * MongoDB 4.4 does. For trying out, development and tests. It has no authentication: listen on loopback only.
 */
import { createServer, type Socket } from 'node:net';
import { lockFolder } from '../folder-lock.ts';
import { answer } from './commands/commands.ts';
import { openCursors } from './commands/cursors.ts';
import { openFaults } from './commands/faults.ts';
import type { Connection, ReplicaSet } from './commands/session.ts';
import { openStore } from './storage/store.ts';
import { type Doc, keyOf } from './values.ts';
import { type Request, requestReader, writeAnswer } from './wire.ts';
import { hostInUrl } from '../../platform/listen.ts';

/**
 * Retryable writes of a replica set: a write that a client repeats with the same session and transaction number, because its answer was
 * lost, is not executed again. More sessions than any test or developer has.
 */
const SESSIONS_MAX = 10_000;

/** Returns a function that executes a command, or returns the answer that it had before. */
function openRetries(): (command: Doc, execute: () => Doc) => Doc {
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

export interface Documents {
  /** A connection string for the driver. */
  url: string;
  close(): Promise<void>;
}

interface DocumentsOptions {
  host?: string;
  port?: number;
  /** Folder of the change log. Without it nothing is kept. */
  dataDir?: string;
  /** The name of a replica set whose only member this is, so that clients repeat writes. Default: a standalone server. */
  replicaSet?: string;
  /** Accepts `configureFailPoint`, as MongoDB does with `enableTestCommands`. */
  testCommands?: boolean;
}

const SWEEP_MS = 2000;

/**
 * Starts the store.
 * @throws Error if another process uses the folder, or its log is damaged
 */
export async function startDocuments(options: DocumentsOptions = {}): Promise<Documents> {
  const { host = '127.0.0.1', port = 0, dataDir, testCommands = false } = options;
  const unlock = dataDir === undefined ? null : await lockFolder(dataDir, 'The document store');
  const store = openStore(dataDir ?? null);
  const cursors = openCursors();
  const replicaSet: ReplicaSet | null =
    options.replicaSet === undefined ? null : { name: options.replicaSet, member: '', once: openRetries() };
  const faults = testCommands ? openFaults() : null;
  const sockets = new Set<Socket>();
  let connections = 0;

  const sweeper = setInterval(() => {
    store.sweep(new Date());
    store.settle();
    cursors.sweep();
  }, SWEEP_MS);
  sweeper.unref();

  const server = createServer((socket) => {
    const connection: Connection = { id: ++connections, appName: undefined };
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serve(socket, ({ command, database }) =>
      answer(command, { store, cursors, replicaSet, faults, now: new Date(), database, connection }),
    );
  });
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  } catch (error) {
    clearInterval(sweeper);
    store.close();
    await unlock?.();
    throw error;
  }
  const member = `${hostInUrl(host)}:${(server.address() as { port: number }).port}`;
  if (replicaSet !== null) replicaSet.member = member;

  return {
    url: `mongodb://${member}/?${replicaSet === null ? 'directConnection=true' : `replicaSet=${replicaSet.name}`}`,
    async close() {
      clearInterval(sweeper);
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      store.close();
      await unlock?.();
    },
  };
}

/** Answers the requests of one connection. */
function serve(socket: Socket, answerTo: (request: Request) => Doc | null): void {
  const read = requestReader();
  let responses = 0;
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (bytes: Buffer) => {
    try {
      for (const request of read(bytes)) {
        const given = answerTo(request);
        if (given === null) return void socket.destroy();
        if (!request.silent) socket.write(writeAnswer(request, given, ++responses));
      }
    } catch {
      socket.destroy(); // Not a message: the rest of the stream cannot be parsed.
    }
  });
}
