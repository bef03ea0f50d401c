/** Tracks the requests of a tab's page, its WebSockets and its event streams. */
import type { Cdp } from './cdp.ts';
import type { ConditionVariable } from './condition-variable.ts';
import { withoutQuery, type WaitPlan } from '../crawl/lessons.ts';

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
  crowded(): boolean;
  /** Whether the parser may wait for a script or style sheet. */
  holdParser(): boolean;
  /** Whether one of them is expected from a host that has not answered. */
  waitInVain(): boolean;
  /** URLs that were blocked, because they or their hosts did not answer on an earlier page. */
  blocked(): string[];
  /** The origins that answered. */
  answered(): string[];
  /** The number of WebSockets and event streams that are open and have not sent a message, and of messages so far. */
  messages(): { awaited: number; received: number };
  /** Forgets the requests of the previous page. @param plan names data that is not waited for */
  begin(plan: WaitPlan): void;
}

export interface RequestsDeps {
  cdp: Cdp;
  mainFrame: string;
  changes: ConditionVariable;
  now: () => number;
}

/** Resource types whose content is tested, or that scripts wait for before they display content. `Document`: of frames. */
const AWAITED_TYPES = ['Script', 'XHR', 'Fetch', 'Document'];

/** More open requests than this keep the browser busy for as long as they load. */
const CROWD = 2000;

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

export function watchRequests({ cdp, mainFrame, changes, now }: RequestsDeps): Requests {
  const open = new Map<string, OpenRequest & { since: number }>();
  /** WebSockets and event streams without a message. */
  const mute = new Set<string>();
  const blocked = new Set<string>();
  const answered = new Set<string>();
  let leftOpen: WaitPlan['leftOpen'] = new Set();
  let received = 0;

  const originOf = (url: string): string => URL.parse(url)?.origin ?? '';
  const staysOpen = ({ url }: OpenRequest): boolean => leftOpen.size > 0 && leftOpen.has(withoutQuery(url) ?? '');

  cdp.on('Network.requestWillBeSent', ({ requestId, loaderId, frameId, type, request }: Sent) => {
    // Ignores the script of a worker, which has no loader: its start is reported here, but its end only to the worker. The
    // request of a document has the ID of its loader.
    if (loaderId === '' || type === undefined || (requestId === loaderId && frameId === mainFrame) || open.has(requestId)) return;
    if (type === 'EventSource') mute.add(requestId);
    else open.set(requestId, { url: request?.url ?? '', type, since: now() });
  });
  cdp.on('Network.responseReceived', ({ requestId, response }: { requestId: string; response: { url: string } }) => {
    if (/^https?:/.test(response.url)) answered.add(originOf(response.url));
    // The end of a frame's document is reported to the process of the frame.
    if (open.get(requestId)?.type === 'Document') open.delete(requestId);
  });
  const end = ({ requestId, blockedReason }: { requestId: string; blockedReason?: string }): void => {
    const request = open.get(requestId);
    if (request !== undefined && blockedReason === 'inspector') blocked.add(request.url);
    open.delete(requestId);
    // Nothing waits for a single picture.
    if (mute.delete(requestId) || (request !== undefined && isData(request))) changes.notify();
  };
  cdp.on('Network.loadingFinished', end);
  cdp.on('Network.loadingFailed', end);
  cdp.on('Network.webSocketCreated', ({ requestId }: { requestId: string }) => void mute.add(requestId));
  cdp.on('Network.webSocketClosed', end);
  const message = ({ requestId }: { requestId: string }): void => {
    mute.delete(requestId);
    received += 1;
    changes.notify();
  };
  cdp.on('Network.webSocketFrameReceived', message);
  cdp.on('Network.eventSourceMessageReceived', message);

  return {
    pending(maxAgeMs) {
      const since = now() - maxAgeMs;
      let count = 0;
      for (const request of open.values()) if (isData(request) && request.since > since && !staysOpen(request)) count += 1;
      return count;
    },
    openData(minAgeMs) {
      const until = now() - minAgeMs;
      return [...open.values()].filter((request) => isData(request) && (request.since <= until || staysOpen(request)));
    },
    open: () => [...open.values()],
    crowded: () => open.size >= CROWD,
    holdParser: () => [...open.values()].some(isForParser),
    waitInVain: () => [...open.values()].some((request) => isForParser(request) && !answered.has(originOf(request.url))),
    blocked: () => [...blocked],
    answered: () => [...answered],
    messages: () => ({ awaited: mute.size, received }),
    begin(plan) {
      ({ leftOpen } = plan);
      open.clear();
      mute.clear();
      blocked.clear();
      answered.clear();
      received = 0;
    },
  };
}
