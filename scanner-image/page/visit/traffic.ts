/** Subscribes to the network events of a tab: navigations of the main frame, HTTP authentication, and requests. */
import type { Cdp, FrameCdp } from '../browser/cdp.ts';
import type { EgressFailure } from '../../egress/egress-failures.ts';
import type { ConditionVariable } from './visit.ts';
import type { OriginValue, SignIn } from '../session/sign-in.ts';
import { blockedPatterns, EVERY_WAIT, isBlocked, type WaitPlan, withoutQuery } from '../../crawl/wait-history.ts';
import { answerSealed } from './seal.ts';
import { type AddHeaders, continueRequest, createNavigation, type Navigation } from './navigation.ts';

export interface Traffic extends Omit<Navigation, 'begin'> {
  requests: Requests;
  /** Lets only files of the page pass from now on, and not even those of sign-ins: see `seal.ts`. */
  seal(): Promise<unknown>;
  /**
   * Starts a visit: the main frame may load documents. `mayGoTo` is called for every hop.
   * @param plan names the hosts and files that did not answer on earlier pages, which are blocked
   */
  begin(page: URL, mayGoTo: Parameters<Navigation['begin']>[0], plan?: WaitPlan): Promise<void>;
}

export interface TrafficDeps {
  changes: ConditionVariable;
  egressFailureOf: (url: URL) => EgressFailure | undefined;
  signIn?: SignIn['basic'];
  /** Headers of the sign-in, each for its origin only. */
  headers?: readonly OriginValue[];
  monotonic?: () => number;
}

export async function watchTraffic(cdp: Cdp, mainFrame: string, deps: TrafficDeps): Promise<Traffic> {
  const { changes, egressFailureOf, signIn, headers = [], monotonic = () => performance.now() } = deps;
  const addHeaders = headersFor(headers);
  const navigation = createNavigation({ cdp, egressFailureOf, addHeaders, changed: () => changes.notify() });
  const credentials = answerChallenges(cdp, signIn);
  const requests = watchRequests({ cdp, mainFrame, changes, monotonic });
  let plan = EVERY_WAIT;
  let blocked = '';
  let isSealed = false;

  cdp.on('Fetch.requestPaused', (event) => {
    if (isSealed) return answerSealed(cdp, event);
    const answered = event.responseStatusCode !== undefined || event.responseErrorReason !== undefined;
    // Blocked URLs do not include the documents of frames.
    if (event.resourceType === 'Document' && event.frameId !== mainFrame && !answered && isBlocked(plan, event.request.url))
      void cdp.send('Fetch.failRequest', { requestId: event.requestId, errorReason: 'BlockedByClient' }).catch(() => undefined);
    else if (event.resourceType !== 'Document' || event.frameId !== mainFrame)
      continueRequest(cdp, event, answered ? undefined : addHeaders);
    else if (answered) void navigation.onAnswer(event).finally(() => changes.notify());
    else navigation.onRequest(event);
    changes.notify();
  });
  // Arrives before the results of our scripts, unlike the request, which other processes send.
  cdp.on('Page.frameRequestedNavigation', ({ frameId, url, disposition }) => {
    if (frameId === mainFrame && disposition === 'currentTab') navigation.onWanted(url);
  });
  cdp.on('Page.frameNavigated', ({ frame }) => {
    if (frame.id === mainFrame) navigation.onShown();
    changes.notify();
  });
  const origins = new Set([...(signIn === undefined ? [] : [signIn.origin]), ...headers.map(({ origin }) => origin)]);
  await cdp.send('Network.enable', BUFFERS);
  await cdp.send('Fetch.enable', {
    patterns: [
      ...(['Request', 'Response'] as const).map((requestStage) => ({ resourceType: 'Document' as const, requestStage })),
      ...[...origins].map((origin) => ({ urlPattern: `${origin}/*`, requestStage: 'Request' as const })),
    ],
    handleAuthRequests: signIn !== undefined,
  });

  return {
    ...navigation,
    seal() {
      isSealed = true;
      navigation.hold();
      return cdp.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] });
    },
    async begin(page, mayGoTo, visitPlan = EVERY_WAIT) {
      plan = visitPlan;
      navigation.begin(mayGoTo);
      requests.begin(plan);
      credentials.clear();
      const urls = blockedPatterns(plan, page);
      if (blocked === urls.join(' ')) return;
      blocked = urls.join(' ');
      await cdp.send('Network.setBlockedURLs', { urls });
    },
    requests,
  };
}

/** Returns a function that adds the headers of the sign-in to those of a request. They do not go along with a redirect to another origin. */
function headersFor(headers: readonly OriginValue[]): AddHeaders | undefined {
  if (headers.length === 0) return undefined;
  return ({ request }) => {
    const { origin } = new URL(request.url);
    const ours = headers.filter((header) => header.origin === origin);
    if (ours.length === 0) return undefined;
    const names = new Set(ours.map(({ name }) => name.toLowerCase()));
    const own = Object.entries(request.headers).filter(([name]) => !names.has(name.toLowerCase()));
    return [...own.map(([name, value]) => ({ name, value })), ...ours.map(({ name, value }) => ({ name, value }))];
  };
}

/** Answers HTTP authentication for the origin of the sign-in: once per request, because a second challenge means that it was rejected. */
function answerChallenges(cdp: Cdp, signIn: SignIn['basic']): { clear(): void } {
  const answered = new Set<string>();
  cdp.on('Fetch.authRequired', ({ requestId, request, authChallenge }) => {
    const isOurs =
      signIn !== undefined && authChallenge.source !== 'Proxy' && new URL(request.url).origin === signIn.origin && !answered.has(requestId);
    answered.add(requestId);
    const authChallengeResponse = isOurs
      ? ({ response: 'ProvideCredentials', username: signIn.username, password: signIn.password } as const)
      : ({ response: 'CancelAuth' } as const);
    void cdp.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined);
  });
  return { clear: () => answered.clear() };
}

/** Tracks the requests of a tab's page, its WebSockets and its event streams. */
interface OpenRequest {
  url: string;
  type: string;
}

interface RequestsDeps {
  cdp: Cdp;
  mainFrame: string;
  changes: ConditionVariable;
  monotonic: () => number;
}

/** Resource types whose content is tested, or that scripts wait for before they display content. `Document`: of frames. */
const AWAITED_TYPES = ['Script', 'XHR', 'Fetch', 'Document'];

/** Resource types that change what a page shows when they arrive. */
const SHOWN_TYPES = [...AWAITED_TYPES, 'Stylesheet', 'Image', 'Font'];

/**
 * The browser reports the end of a response to `fetch` only when its script has read the body, which some never do. A body of unknown
 * length without more data for this time counts as arrived, in milliseconds; or it is a stream, like those that send messages.
 */
const SILENT_MS = 500;

/** More open requests than this keep the browser busy for as long as they load. */
const OPEN_REQUESTS_MAX = 2000;

/** The browser keeps the HTML of documents for us, which is searched for closed shadow roots, unless they or their data are larger, in bytes. */
const BUFFERS = { maxTotalBufferSize: 5_000_000, maxResourceBufferSize: 5_000_000 };

/** Resource types that the parser may wait for. */
const PARSER_TYPES = ['Script', 'Stylesheet'];

const isForParser = ({ type }: OpenRequest): boolean => PARSER_TYPES.includes(type);
const isData = ({ type }: OpenRequest): boolean => AWAITED_TYPES.includes(type);

interface FollowedRequest extends OpenRequest {
  since: number;
  session: Cdp;
  loaderId: string;
  /** What is missing of the body, in bytes; NaN if the response does not tell its length. */
  bytesLeft: number;
  /** When the last data of a body of unknown length arrived. */
  heard: number;
}

/** What is known about the requests of a page. */
interface State {
  /** Requests by ID, which is unique among all processes of the browser. */
  open: Map<string, FollowedRequest>;
  /** A WebSocket or an event stream was opened. */
  connected: boolean;
  /** Addresses of scripts, without queries. */
  scripts: Set<string>;
  /** The last request of each style sheet. */
  sheets: Map<string, { session: Cdp; requestId: string }>;
  blocked: Set<string>;
  answered: Set<string>;
}

const newState = (): State => ({
  open: new Map(),
  connected: false,
  scripts: new Set(),
  sheets: new Map(),
  blocked: new Set(),
  answered: new Set(),
});

const originOf = (url: string): string => URL.parse(url)?.origin ?? '';

/** Records the requests of the page, or of a frame in a process of its own. */
function follow(session: Cdp, state: State, { mainFrame, changes, monotonic }: RequestsDeps): void {
  const onEnd = ({ requestId, blockedReason }: { requestId: string; blockedReason?: string }): void => {
    const request = state.open.get(requestId);
    if (request !== undefined && blockedReason === 'inspector') state.blocked.add(request.url);
    state.open.delete(requestId);
    if (request !== undefined) changes.notify();
  };
  session.on('Network.requestWillBeSent', ({ requestId, loaderId, frameId, type, request }) => {
    if (type === 'Script') state.scripts.add(withoutQuery(request.url) ?? '');
    if (type === 'Stylesheet') state.sheets.set(request.url, { session, requestId });
    // Ignores the script of a worker, which has no loader: its start is reported here, but its end only to the worker. The
    // request of a document has the ID of its loader.
    if (loaderId === '' || type === undefined || (requestId === loaderId && frameId === mainFrame) || state.open.has(requestId)) return;
    if (type === 'EventSource') state.connected = true;
    else state.open.set(requestId, { url: request.url, type, since: monotonic(), session, loaderId, bytesLeft: NaN, heard: Infinity });
  });
  session.on('Page.frameNavigated', ({ frame }) => {
    if (frame.id !== mainFrame) return;
    // What the documents before it asked for ends without an event. Documents of frames may be announced before the page itself.
    for (const [id, { loaderId, type }] of state.open) if (type !== 'Document' && loaderId !== frame.loaderId) state.open.delete(id);
  });
  session.on('Network.responseReceived', ({ requestId, response: { url, headers } }) => {
    if (/^https?:/.test(url)) state.answered.add(originOf(url));
    const request = state.open.get(requestId);
    // The end of a frame's document is reported to the process of the frame.
    if (request?.type === 'Document') state.open.delete(requestId);
    else if (request !== undefined) request.bytesLeft = Number(headers['content-length'] ?? headers['Content-Length']);
  });
  session.on('Network.dataReceived', ({ requestId, encodedDataLength }) => {
    const request = state.open.get(requestId);
    if (request?.type !== 'Fetch') return;
    request.bytesLeft -= encodedDataLength;
    if (request.bytesLeft <= 0) onEnd({ requestId });
    if (!Number.isNaN(request.bytesLeft)) return;
    request.heard = monotonic();
    setTimeout(() => changes.notify(), SILENT_MS).unref();
  });
  session.on('Network.loadingFinished', onEnd);
  session.on('Network.loadingFailed', onEnd);
  session.on('Network.webSocketCreated', () => void (state.connected = true));
}

function watchRequests(deps: RequestsDeps) {
  const { cdp, changes, monotonic } = deps;
  const state = newState();
  let leftOpen: WaitPlan['leftOpen'] = new Set();
  follow(cdp, state, deps);

  const open = (): FollowedRequest[] => [...state.open.values()].filter(({ heard }) => monotonic() < heard + SILENT_MS);
  const staysOpen = ({ url }: OpenRequest): boolean => leftOpen.size > 0 && leftOpen.has(withoutQuery(url) ?? '');
  function forget(session: Cdp): void {
    for (const [id, request] of state.open) if (request.session === session) state.open.delete(id);
    changes.notify();
  }

  return {
    /** The number of scripts and data requests with an incomplete response, except those older than `maxAgeMs`, and long polls. */
    pending(maxAgeMs: number): number {
      const since = monotonic() - maxAgeMs;
      return open().filter((request) => isData(request) && request.since > since && !staysOpen(request)).length;
    },
    /** Scripts and data requests with an incomplete response, sent at least `minAgeMs` ago, and long polls. */
    openData(minAgeMs: number): OpenRequest[] {
      const until = monotonic() - minAgeMs;
      return open().filter((request) => isData(request) && (request.since <= until || staysOpen(request)));
    },
    /** All requests with an incomplete response. */
    open,
    /** Whether so many requests are open that the browser does little else. */
    overloaded: (): boolean => state.open.size >= OPEN_REQUESTS_MAX,
    /** Whether the parser may wait for a script or style sheet. */
    holdParser: (): boolean => open().some((request) => request.session === cdp && isForParser(request)),
    /** URLs that were blocked, because they or their hosts did not answer on an earlier page. */
    blocked: (): string[] => [...state.blocked],
    /** The origins that answered. */
    answered: (): string[] => [...state.answered],
    /** Tracks the requests of a frame in a process of its own, until it is gone. */
    followFrame(frame: FrameCdp): Promise<unknown> {
      follow(frame, state, deps);
      frame.onClosed(() => forget(frame));
      return frame.send('Network.enable', BUFFERS);
    },
    /** The text of a style sheet that the page has loaded; null if the browser does not have it. It makes no request. */
    async sheetText(url: string): Promise<string | null> {
      const { session, requestId = '' } = state.sheets.get(url) ?? {};
      const read = await session?.send('Network.getResponseBody', { requestId }).catch(() => undefined);
      return read === undefined || read.base64Encoded ? null : read.body;
    },
    /** Addresses of the scripts that were requested, without queries. */
    scripts: (): string[] => [...state.scripts],
    /** Whether a WebSocket or an event stream was opened. */
    connected: (): boolean => state.connected,
    /** What the page shows when it arrives and has not arrived: files and data, but no long polls, streams, reports and media. */
    outstanding: (): OpenRequest[] => open().filter((request) => SHOWN_TYPES.includes(request.type) && !staysOpen(request)),
    /** Forgets the requests of the previous page. @param plan names data that is not waited for */
    begin(plan: WaitPlan): void {
      ({ leftOpen } = plan);
      Object.assign(state, newState());
    },
  };
}

type Requests = ReturnType<typeof watchRequests>;
