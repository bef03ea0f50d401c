/** Tracks the requests of a tab's page, its WebSockets and its event streams. */
import type { Cdp } from '../browser/cdp.ts';
import type { ConditionVariable } from '../browser/condition-variable.ts';
import type { FrameCdp } from '../browser/frame-sessions.ts';
import { withoutQuery, type WaitPlan } from '../../crawl/wait-history.ts';

export interface OpenRequest {
  url: string;
  type: string;
}

export interface Requests {
  /** The number of scripts and data requests with an incomplete response, except those older than `maxAgeMs`, and long polls. */
  pending(maxAgeMs: number): number;
  /** Scripts and data requests with an incomplete response, sent at least `minAgeMs` ago, and long polls. */
  openData(minAgeMs: number): OpenRequest[];
  /** All requests with an incomplete response. */
  open(): OpenRequest[];
  /** Whether so many requests are open that the browser does little else. */
  overloaded(): boolean;
  /** Whether the parser may wait for a script or style sheet. */
  holdParser(): boolean;
  /** Whether one of them is expected from a host that has not answered. */
  awaitsSilentHost(): boolean;
  /** URLs that were blocked, because they or their hosts did not answer on an earlier page. */
  blocked(): string[];
  /** The origins that answered. */
  answered(): string[];
  /** The number of WebSockets and event streams that are open and have not sent a message, and of messages so far. */
  messages(): { awaited: number; received: number };
  /** Tracks the requests of a frame in a process of its own, until it is gone. */
  followFrame(frame: FrameCdp): Promise<unknown>;
  /** Forgets the requests of the previous page. @param plan names data that is not waited for */
  begin(plan: WaitPlan): void;
}

export interface RequestsDeps {
  cdp: Cdp;
  mainFrame: string;
  changes: ConditionVariable;
  monotonic: () => number;
}

/** Resource types whose content is tested, or that scripts wait for before they display content. `Document`: of frames. */
const AWAITED_TYPES = ['Script', 'XHR', 'Fetch', 'Document'];

/** More open requests than this keep the browser busy for as long as they load. */
const OPEN_REQUESTS_MAX = 2000;

/** Nobody reads the bodies of responses. */
export const NO_BUFFERS = { maxTotalBufferSize: 0, maxResourceBufferSize: 0 };

/** Resource types that the parser may wait for. */
const PARSER_TYPES = ['Script', 'Stylesheet'];

const isForParser = ({ type }: OpenRequest): boolean => PARSER_TYPES.includes(type);
const isData = ({ type }: OpenRequest): boolean => AWAITED_TYPES.includes(type);

/** What is known about the requests of a page. */
interface State {
  /** Requests by ID, which is unique among all processes of the browser. */
  open: Map<string, OpenRequest & { since: number; session: Cdp }>;
  /** WebSockets and event streams without a message, with their session. */
  withoutMessage: Map<string, Cdp>;
  blocked: Set<string>;
  answered: Set<string>;
  received: number;
}

const newState = (): State => ({ open: new Map(), withoutMessage: new Map(), blocked: new Set(), answered: new Set(), received: 0 });

const originOf = (url: string): string => URL.parse(url)?.origin ?? '';

/** Records the requests of the page, or of a frame in a process of its own. */
function follow(session: Cdp, state: State, { mainFrame, changes, monotonic }: RequestsDeps): void {
  const onEnd = ({ requestId, blockedReason }: { requestId: string; blockedReason?: string }): void => {
    const request = state.open.get(requestId);
    if (request !== undefined && blockedReason === 'inspector') state.blocked.add(request.url);
    state.open.delete(requestId);
    // Nothing waits for a single picture.
    if (state.withoutMessage.delete(requestId) || (request !== undefined && isData(request))) changes.notify();
  };
  const onMessage = ({ requestId }: { requestId: string }): void => {
    state.withoutMessage.delete(requestId);
    state.received += 1;
    changes.notify();
  };
  session.on('Network.requestWillBeSent', ({ requestId, loaderId, frameId, type, request }) => {
    // Ignores the script of a worker, which has no loader: its start is reported here, but its end only to the worker. The
    // request of a document has the ID of its loader.
    if (loaderId === '' || type === undefined || (requestId === loaderId && frameId === mainFrame) || state.open.has(requestId)) return;
    if (type === 'EventSource') state.withoutMessage.set(requestId, session);
    else state.open.set(requestId, { url: request.url, type, since: monotonic(), session });
  });
  session.on('Network.responseReceived', ({ requestId, response }) => {
    if (/^https?:/.test(response.url)) state.answered.add(originOf(response.url));
    // The end of a frame's document is reported to the process of the frame.
    if (state.open.get(requestId)?.type === 'Document') state.open.delete(requestId);
  });
  session.on('Network.loadingFinished', onEnd);
  session.on('Network.loadingFailed', onEnd);
  session.on('Network.webSocketCreated', ({ requestId }) => void state.withoutMessage.set(requestId, session));
  session.on('Network.webSocketClosed', onEnd);
  session.on('Network.webSocketFrameReceived', onMessage);
  session.on('Network.eventSourceMessageReceived', onMessage);
}

export function watchRequests(deps: RequestsDeps): Requests {
  const { cdp, changes, monotonic } = deps;
  const state = newState();
  let leftOpen: WaitPlan['leftOpen'] = new Set();
  follow(cdp, state, deps);

  const open = (): (OpenRequest & { since: number; session: Cdp })[] => [...state.open.values()];
  const staysOpen = ({ url }: OpenRequest): boolean => leftOpen.size > 0 && leftOpen.has(withoutQuery(url) ?? '');
  const forParser = (): OpenRequest[] => open().filter((request) => request.session === cdp && isForParser(request));
  function forget(session: Cdp): void {
    for (const [id, request] of state.open) if (request.session === session) state.open.delete(id);
    for (const [id, owner] of state.withoutMessage) if (owner === session) state.withoutMessage.delete(id);
    changes.notify();
  }

  return {
    pending(maxAgeMs) {
      const since = monotonic() - maxAgeMs;
      return open().filter((request) => isData(request) && request.since > since && !staysOpen(request)).length;
    },
    openData(minAgeMs) {
      const until = monotonic() - minAgeMs;
      return open().filter((request) => isData(request) && (request.since <= until || staysOpen(request)));
    },
    open,
    overloaded: () => state.open.size >= OPEN_REQUESTS_MAX,
    holdParser: () => forParser().length > 0,
    awaitsSilentHost: () => forParser().some(({ url }) => !state.answered.has(originOf(url))),
    blocked: () => [...state.blocked],
    answered: () => [...state.answered],
    followFrame(frame) {
      follow(frame, state, deps);
      frame.onClosed(() => forget(frame));
      return frame.send('Network.enable', NO_BUFFERS);
    },
    messages: () => ({ awaited: state.withoutMessage.size, received: state.received }),
    begin(plan) {
      ({ leftOpen } = plan);
      Object.assign(state, newState());
    },
  };
}
