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

interface Sent {
  requestId: string;
  loaderId: string;
  frameId?: string;
  type?: string;
  request?: { url: string };
}

export function watchRequests({ cdp, mainFrame, changes, monotonic }: RequestsDeps): Requests {
  /** Requests by ID, which is unique among all processes of the browser. */
  const open = new Map<string, OpenRequest & { since: number; session: Cdp }>();
  /** WebSockets and event streams without a message, with their session. */
  const withoutMessage = new Map<string, Cdp>();
  const blocked = new Set<string>();
  const answered = new Set<string>();
  let leftOpen: WaitPlan['leftOpen'] = new Set();
  let received = 0;

  const originOf = (url: string): string => URL.parse(url)?.origin ?? '';
  const staysOpen = ({ url }: OpenRequest): boolean => leftOpen.size > 0 && leftOpen.has(withoutQuery(url) ?? '');
  const forParser = (): OpenRequest[] => [...open.values()].filter((request) => request.session === cdp && isForParser(request));

  const onSent = (session: Cdp, { requestId, loaderId, frameId, type, request }: Sent): void => {
    // Ignores the script of a worker, which has no loader: its start is reported here, but its end only to the worker. The
    // request of a document has the ID of its loader.
    if (loaderId === '' || type === undefined || (requestId === loaderId && frameId === mainFrame) || open.has(requestId)) return;
    if (type === 'EventSource') withoutMessage.set(requestId, session);
    else open.set(requestId, { url: request?.url ?? '', type, since: monotonic(), session });
  };
  const onResponse = ({ requestId, response }: { requestId: string; response: { url: string } }): void => {
    if (/^https?:/.test(response.url)) answered.add(originOf(response.url));
    // The end of a frame's document is reported to the process of the frame.
    if (open.get(requestId)?.type === 'Document') open.delete(requestId);
  };
  const onEnd = ({ requestId, blockedReason }: { requestId: string; blockedReason?: string }): void => {
    const request = open.get(requestId);
    if (request !== undefined && blockedReason === 'inspector') blocked.add(request.url);
    open.delete(requestId);
    // Nothing waits for a single picture.
    if (withoutMessage.delete(requestId) || (request !== undefined && isData(request))) changes.notify();
  };
  const onMessage = ({ requestId }: { requestId: string }): void => {
    withoutMessage.delete(requestId);
    received += 1;
    changes.notify();
  };

  function follow(session: Cdp): void {
    session.on('Network.requestWillBeSent', (sent: Sent) => onSent(session, sent));
    session.on('Network.responseReceived', onResponse);
    session.on('Network.loadingFinished', onEnd);
    session.on('Network.loadingFailed', onEnd);
    session.on('Network.webSocketCreated', ({ requestId }: { requestId: string }) => void withoutMessage.set(requestId, session));
    session.on('Network.webSocketClosed', onEnd);
    session.on('Network.webSocketFrameReceived', onMessage);
    session.on('Network.eventSourceMessageReceived', onMessage);
  }
  function forget(session: Cdp): void {
    for (const [id, request] of open) if (request.session === session) open.delete(id);
    for (const [id, owner] of withoutMessage) if (owner === session) withoutMessage.delete(id);
    changes.notify();
  }
  follow(cdp);

  return {
    pending(maxAgeMs) {
      const since = monotonic() - maxAgeMs;
      let count = 0;
      for (const request of open.values()) if (isData(request) && request.since > since && !staysOpen(request)) count += 1;
      return count;
    },
    openData(minAgeMs) {
      const until = monotonic() - minAgeMs;
      return [...open.values()].filter((request) => isData(request) && (request.since <= until || staysOpen(request)));
    },
    open: () => [...open.values()],
    overloaded: () => open.size >= OPEN_REQUESTS_MAX,
    holdParser: () => forParser().length > 0,
    awaitsSilentHost: () => forParser().some(({ url }) => !answered.has(originOf(url))),
    blocked: () => [...blocked],
    answered: () => [...answered],
    followFrame(frame) {
      follow(frame);
      frame.onClosed(() => forget(frame));
      return frame.send('Network.enable', NO_BUFFERS);
    },
    messages: () => ({ awaited: withoutMessage.size, received }),
    begin(plan) {
      ({ leftOpen } = plan);
      open.clear();
      withoutMessage.clear();
      blocked.clear();
      answered.clear();
      received = 0;
    },
  };
}
