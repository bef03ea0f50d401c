/** Tracks the requests of a tab's page, its WebSockets and its event streams. */
import type { Cdp } from './cdp.ts';
import type { ConditionVariable } from './condition-variable.ts';
import type { SilentHosts } from './silent-hosts.ts';

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
  /** Whether a script or style sheet, for which the parser may wait, is expected from a host that never answered. */
  waitInVain(): boolean;
  /** URLs that were blocked, because they or their hosts did not answer on an earlier page. */
  blocked(): string[];
  /** The number of WebSockets and event streams that are open and have not sent a message, and of messages so far. */
  messages(): { awaited: number; received: number };
  /** Forgets the requests of the previous page. */
  clear(): void;
}

export interface RequestsDeps {
  cdp: Cdp;
  mainFrame: string;
  changes: ConditionVariable;
  hosts: SilentHosts;
  now: () => number;
}

/** Resource types that scripts wait for before they display content. */
const AWAITED_TYPES = ['Script', 'XHR', 'Fetch'];

/** Resource types that the parser may wait for. */
const PARSER_TYPES = ['Script', 'Stylesheet'];

const isData = ({ type }: OpenRequest): boolean => AWAITED_TYPES.includes(type);

interface Sent {
  requestId: string;
  loaderId: string;
  frameId?: string;
  type?: string;
  request?: { url: string };
}

export function watchRequests({ cdp, mainFrame, changes, hosts, now }: RequestsDeps): Requests {
  const open = new Map<string, OpenRequest & { since: number }>();
  /** WebSockets and event streams without a message. */
  const mute = new Set<string>();
  const blocked = new Set<string>();
  let received = 0;

  cdp.on('Network.requestWillBeSent', ({ requestId, loaderId, frameId, type, request }: Sent) => {
    // Ignores the script of a worker, which has no loader: its start is reported here, but its end only to the worker. The
    // request of a document has the ID of its loader.
    if (loaderId === '' || type === undefined || (requestId === loaderId && frameId === mainFrame) || open.has(requestId)) return;
    if (type === 'EventSource') mute.add(requestId);
    else open.set(requestId, { url: request?.url ?? '', type, since: now() });
  });
  cdp.on('Network.responseReceived', ({ requestId, response }: { requestId: string; response: { url: string } }) => {
    hosts.answered(response.url);
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
  cdp.on('Network.loadingFinished', (event: { requestId: string }) => {
    const request = open.get(event.requestId);
    if (request !== undefined) hosts.finished(request.url);
    end(event);
  });
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
      for (const request of open.values()) if (isData(request) && request.since > since && !hosts.staysOpen(request.url)) count += 1;
      return count;
    },
    openData(minAgeMs) {
      const until = now() - minAgeMs;
      return [...open.values()].filter((request) => isData(request) && (request.since <= until || hosts.staysOpen(request.url)));
    },
    open: () => [...open.values()],
    waitInVain: () => [...open.values()].some(({ url, type }) => PARSER_TYPES.includes(type) && hosts.isSilentHost(url)),
    blocked: () => [...blocked],
    messages: () => ({ awaited: mute.size, received }),
    clear() {
      open.clear();
      mute.clear();
      blocked.clear();
      received = 0;
    },
  };
}
