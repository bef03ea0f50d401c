/**
 * Commands and events of Chromium's DevTools protocol, for what Playwright does not offer. The sessions of pages are
 * Playwright's `CDPSession`.
 */
import type { ProtocolMapping } from 'devtools-protocol/types/protocol-mapping.d.ts';

export type Commands = ProtocolMapping.Commands;
export type Events = ProtocolMapping.Events;

/** A session with a page, or with a frame in a process of its own. */
export interface Cdp {
  /** @throws Error if the browser does not carry out the command, or the page or frame is closed */
  send<T extends keyof Commands>(method: T, params?: Commands[T]['paramsType'][0]): Promise<Commands[T]['returnType']>;
  on<T extends keyof Events>(event: T, listener: (payload: Events[T][0]) => void): unknown;
}
