/**
 * A connection to a browser through its debugging pipe (Chrome DevTools Protocol): JSON messages that end with a zero byte,
 * with one session per tab and per frame in a process of its own.
 */
import { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping.d.ts';

type Commands = ProtocolMapping.Commands;
type Events = ProtocolMapping.Events;

/** The browser did not carry out a command, or the session is closed. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

/** Commands to a target of the browser, and its events. */
export interface Cdp {
  /** @throws CommandFailed */
  send<T extends keyof Commands>(method: T, params?: Commands[T]['paramsType'][0]): Promise<Commands[T]['returnType']>;
  on<T extends keyof Events>(event: T, listener: (payload: Events[T][0]) => void): unknown;
}

/** A session with a target. */
export interface Session extends Cdp {
  off<T extends keyof Events>(event: T, listener: (payload: Events[T][0]) => void): void;
  /** Calls the function once, when the target is gone. Commands fail from then on. */
  onClosed(listener: () => void): void;
}

export interface Connection {
  /** The session with the browser itself. */
  root: Session;
  /** The session with an ID of `Target.attachToTarget` or of the event `Target.attachedToTarget`. */
  session(id: string): Session;
}

/** A message from the browser: the answer to a command, or an event. */
interface Message {
  id?: number;
  sessionId?: string;
  method?: string;
  params?: { sessionId?: string };
  result?: unknown;
  error?: { message: string };
}

/** The name of the event for `onClosed`. No event of the protocol is called that. */
const CLOSED = 'closed';

/** Sends a command, and calls back with its result. */
type Send = (method: string, params: object | undefined, answer: (message: Pick<Message, 'result' | 'error'>) => void) => void;

class PipeSession implements Session {
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #open = new Set<(reason: string) => void>();
  readonly #send: Send;
  #closed = false;

  constructor(send: Send) {
    this.#send = send;
  }

  send<T extends keyof Commands>(method: T, params?: Commands[T]['paramsType'][0]): Promise<Commands[T]['returnType']> {
    if (this.#closed) return Promise.reject(new CommandFailed(`${method}: the target is closed`));
    return new Promise((resolve, reject) => {
      const fail = (reason: string): void => reject(new CommandFailed(`${method}: ${reason}`));
      this.#open.add(fail);
      this.#send(method, params, ({ result, error }) => {
        this.#open.delete(fail);
        if (error === undefined) resolve(result as Commands[T]['returnType']);
        else fail(error.message);
      });
    });
  }

  on<T extends keyof Events>(event: T, listener: (payload: Events[T][0]) => void): this {
    this.#events.on(event, listener);
    return this;
  }

  off<T extends keyof Events>(event: T, listener: (payload: Events[T][0]) => void): void {
    this.#events.off(event, listener);
  }

  onClosed(listener: () => void): void {
    if (this.#closed) listener();
    else this.#events.once(CLOSED, listener);
  }

  emit(event: string, payload: unknown): void {
    this.#events.emit(event, payload);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const fail of this.#open) fail('the target was closed');
    this.#open.clear();
    this.#events.emit(CLOSED);
  }
}

/** Connects to a browser whose debugging pipe these streams are. All sessions close with the pipe. */
export function connect(commands: Writable, messages: Readable): Connection {
  const sessions = new Map<string, PipeSession>();
  /** The IDs of the sessions that a session has attached to, by its ID. */
  const children = new Map<string, Set<string>>();
  const answers = new Map<number, (message: Message) => void>();
  let lastId = 0;

  const sendIn =
    (sessionId?: string): Send =>
    (method, params, answer) => {
      const id = ++lastId;
      answers.set(id, answer);
      commands.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    };
  const root = new PipeSession(sendIn());

  function attach(id: string, parent: string | undefined): void {
    sessions.set(id, new PipeSession(sendIn(id)));
    if (parent !== undefined) children.set(parent, (children.get(parent) ?? new Set()).add(id));
  }

  /** Closes a session with those that it has attached to: the browser reports only the first. */
  function detach(id: string): void {
    for (const child of children.get(id) ?? []) detach(child);
    children.delete(id);
    sessions.get(id)?.close();
    sessions.delete(id);
  }

  function receive(message: Message): void {
    const { id, sessionId, method, params } = message;
    if (id !== undefined) {
      // The answer to a command of a session that is gone has no session ID.
      answers.get(id)?.(message);
      answers.delete(id);
      return;
    }
    const child = params?.sessionId;
    if (method === 'Target.attachedToTarget' && child !== undefined) attach(child, sessionId);
    // A session that is unknown was detached meanwhile.
    (sessionId === undefined ? root : sessions.get(sessionId))?.emit(method!, params);
    if (method === 'Target.detachedFromTarget' && child !== undefined) detach(child);
  }

  readMessages(messages, (text) => receive(JSON.parse(text) as Message));
  messages.once('close', () => {
    for (const open of [...sessions.values(), root]) open.close();
    sessions.clear();
    answers.clear();
  });
  // The browser has exited. The closing of its messages ends the sessions.
  for (const stream of [commands, messages]) stream.on('error', () => undefined);
  return { root, session: (id) => sessions.get(id) ?? closedSession() };
}

/** The session of a target that was gone before it was used. */
function closedSession(): Session {
  const session = new PipeSession(() => undefined);
  session.close();
  return session;
}

/** Calls the function with each text that ends with a zero byte. */
function readMessages(stream: Readable, receive: (text: string) => void): void {
  let parts: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, start)) {
      const last = chunk.subarray(start, end);
      receive((parts.length === 0 ? last : Buffer.concat([...parts, last])).toString());
      parts = [];
      start = end + 1;
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  });
}
