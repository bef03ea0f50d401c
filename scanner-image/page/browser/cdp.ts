/**
 * Commands and events of Chromium's DevTools protocol, for what Playwright does not offer. The sessions of pages are
 * Playwright's `CDPSession`.
 */
import { EventEmitter } from 'node:events';
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping.d.ts';

export type Commands = ProtocolMapping.Commands;
export type Events = ProtocolMapping.Events;

/** A session with a page, or with a frame in a process of its own. */
export interface Cdp {
  /** @throws Error if the browser does not carry out the command, or the page or frame is closed */
  send<T extends keyof Commands>(method: T, params?: Commands[T]['paramsType'][0]): Promise<Commands[T]['returnType']>;
  on<T extends keyof Events>(event: T, listener: (payload: Events[T][0]) => void): unknown;
}

/*
 * Sessions with the frames of a page that have processes of their own. Playwright opens such a session only after the frame has
 * started, which is too late for the identity of the browser. These sessions hold the frame until they have prepared it; their
 * messages travel inside those of the page's session.
 */

/** A frame that has a process of its own, because its site is another one. */
export interface FrameProcess {
  id: string;
  session: Cdp;
}

/** The session with a frame in a process of its own. */
export interface FrameCdp extends Cdp {
  /** Calls the function when the process of the frame is gone. */
  onClosed(listener: () => void): void;
}

interface Answer {
  id: number;
  result: unknown;
  error?: { message: string };
}

class FrameSession implements FrameCdp {
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #open = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  readonly #deliver: (message: string) => Promise<unknown>;
  #lastId = 0;
  #closed = false;

  constructor(deliver: (message: string) => Promise<unknown>) {
    this.#deliver = deliver;
  }

  send<T extends keyof Commands>(method: T, params?: Commands[T]['paramsType'][0]): Promise<Commands[T]['returnType']> {
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (this.#closed) reject(new Error(`${method}: the frame is gone`));
    else {
      this.#open.set(id, { resolve, reject: (error) => reject(new Error(`${method}: ${error.message}`)) });
      this.#deliver(JSON.stringify({ id, method, params })).catch(() => this.close());
    }
    return promise as Promise<Commands[T]['returnType']>;
  }

  on<T extends keyof Events>(event: T, listener: (payload: Events[T][0]) => void): this {
    this.#events.on(event, listener);
    return this;
  }

  onClosed(listener: () => void): void {
    this.#events.once(CLOSED, listener);
  }

  receive(message: string): void {
    const received = JSON.parse(message) as Answer | { id?: undefined; method: string; params: unknown };
    if (received.id === undefined) return void this.#events.emit(received.method, received.params);
    const { id, result, error } = received;
    if (error === undefined) this.#open.get(id)?.resolve(result);
    else this.#open.get(id)?.reject(new Error(error.message));
    this.#open.delete(id);
  }

  /** Rejects the commands without an answer, and closes the sessions with the frames inside. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const { reject } of this.#open.values()) reject(new Error('the frame is gone'));
    this.#open.clear();
    this.#events.emit(CLOSED);
  }
}

/** No event of the protocol is called that. */
const CLOSED = 'closed';

/**
 * Follows the frames of a page in processes of their own, also those inside others.
 * @param prepare called with the session of each frame before its document loads anything
 * @returns a function that lists them
 */
export async function followFrames(page: Cdp, prepare: (frame: FrameCdp) => Promise<unknown>): Promise<() => readonly FrameProcess[]> {
  const processes = new Map<string, FrameProcess>();

  async function follow(parent: Cdp): Promise<void> {
    const sessions = new Map<string, FrameSession>();
    const close = (sessionId: string): void => {
      sessions.get(sessionId)?.close();
      sessions.delete(sessionId);
    };
    parent.on('Target.attachedToTarget', ({ sessionId, targetInfo: { targetId: id } }) => {
      const session = new FrameSession((message) => parent.send('Target.sendMessageToTarget', { sessionId, message }));
      sessions.set(sessionId, session);
      processes.set(id, { id, session });
      session.onClosed(() => {
        // The frame may be back in a process of its own already.
        if (processes.get(id)?.session === session) processes.delete(id);
      });
      // The frame may be gone before the commands are sent.
      Promise.all([prepare(session), follow(session), session.send('Runtime.runIfWaitingForDebugger')]).catch(() => undefined);
    });
    parent.on('Target.receivedMessageFromTarget', ({ sessionId, message }) => sessions.get(sessionId)?.receive(message));
    parent.on('Target.detachedFromTarget', ({ sessionId }) => close(sessionId));
    if (parent instanceof FrameSession) parent.onClosed(() => [...sessions.keys()].forEach(close));
    // Workers have nothing to test. Playwright starts them.
    const filter = [{ type: 'iframe' }];
    await parent.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: false, filter });
  }

  await follow(page);
  return () => [...processes.values()];
}
