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

class PipeSession implements Session {
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #commands = new Map<number, { method: string; resolve(result: never): void; reject(error: Error): void }>();
  readonly #write: (message: object) => void;
  readonly #nextId: () => number;
  #closed = false;

  constructor(write: (message: object) => void, nextId: () => number) {
    this.#write = write;
    this.#nextId = nextId;
  }

  send<T extends keyof Commands>(method: T, params?: Commands[T]['paramsType'][0]): Promise<Commands[T]['returnType']> {
    if (this.#closed) return Promise.reject(new CommandFailed(`${method}: the target is closed`));
    const id = this.#nextId();
    return new Promise((resolve, reject) => {
      this.#commands.set(id, { method, resolve, reject });
      this.#write({ id, method, params });
    });
  }

  on<T extends keyof Events>(event: T, listener: (payload: Events[T][0]) => void): this {
    this.#events.on(event, listener);
    return this;
  }

  onClosed(listener: () => void): void {
    if (this.#closed) listener();
    else this.#events.once(CLOSED, listener);
  }

  receive({ id, method, params, result, error }: Message): void {
    if (id === undefined) return void this.#events.emit(method!, params);
    const command = this.#commands.get(id);
    this.#commands.delete(id);
    if (error === undefined) command?.resolve(result as never);
    else command?.reject(new CommandFailed(`${command.method}: ${error.message}`));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const { method, reject } of this.#commands.values()) reject(new CommandFailed(`${method}: the target was closed`));
    this.#commands.clear();
    this.#events.emit(CLOSED);
  }
}

/** Connects to a browser whose debugging pipe these streams are. All sessions close with the pipe. */
export function connect(commands: Writable, messages: Readable): Connection {
  const sessions = new Map<string, PipeSession>();
  let lastId = 0;
  const nextId = (): number => ++lastId;
  const write = (message: object): void => void commands.write(`${JSON.stringify(message)}\0`);
  const root = new PipeSession(write, nextId);

  function session(id: string): PipeSession {
    let known = sessions.get(id);
    if (known === undefined) {
      known = new PipeSession((message) => write({ ...message, sessionId: id }), nextId);
      sessions.set(id, known);
    }
    return known;
  }

  function receive(message: Message): void {
    // A session that is unknown was detached meanwhile.
    const receiver = message.sessionId === undefined ? root : sessions.get(message.sessionId);
    const child = message.params?.sessionId;
    if (message.method === 'Target.attachedToTarget' && child !== undefined) session(child);
    receiver?.receive(message);
    if (message.method !== 'Target.detachedFromTarget' || child === undefined) return;
    sessions.get(child)?.close();
    sessions.delete(child);
  }

  readMessages(messages, (text) => receive(JSON.parse(text) as Message));
  const close = (): void => {
    for (const open of [...sessions.values(), root]) open.close();
    sessions.clear();
  };
  messages.once('close', close);
  // The browser has exited. The closing of its messages ends the sessions.
  for (const stream of [commands, messages]) stream.on('error', () => undefined);
  return { root, session };
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
