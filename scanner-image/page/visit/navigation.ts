/**
 * Controls the navigation of the main frame. Checks the response of each document before it is displayed, and blocks
 * navigation during the test.
 */
import type { Cdp, Events } from '../browser/cdp.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { EGRESS_HEADER, type EgressFailure } from '../../egress/egress-failures.ts';
import { failureOfStatus, checkHeaders, retryAfterMs, type Answer, type WrongPage } from '../../crawl/page-checks.ts';

/** Why a document was stopped before it was displayed. */
export interface Stopped extends WrongPage {
  url: string;
  status: number | null;
  /** The delay of `Retry-After`, in milliseconds. */
  retryAfterMs: number | null;
}

export type PausedRequest = Events['Fetch.requestPaused'][0];

export interface Navigation {
  /** Starts a visit: the main frame may load documents. `mayGoTo` is called for every hop. */
  begin(mayGoTo: (url: URL) => WrongPage | null): void;
  /** Blocks navigation of the main frame from now on. */
  hold(): void;
  /** Whether the main frame is loading another document. */
  leaving(): boolean;
  /** Whether the document has asked for another one, which the browser has not requested yet. */
  announced(): boolean;
  /** Why the last document was stopped. */
  stopped(): Stopped | null;
  /** The response of the displayed document. */
  answer(): Answer | null;
  /** Where the displayed document tried to go while navigation was blocked, if it did. */
  wanted(): string | null;
  /** Whether a navigation that the displayed document started was stopped. The browser may never report such a document as loaded. */
  kept(): boolean;
}

export interface NavigationControl extends Navigation {
  /** Must be called when the document asks for another one, which the browser may not have requested yet. */
  onWanted(url: string): void;
  /** Handles a paused request for a document of the main frame. */
  onRequest(event: PausedRequest): void;
  /** Handles its paused response. */
  onAnswer(event: PausedRequest): Promise<void>;
  /** Must be called when the main frame displays a new document. */
  onShown(): void;
}

/** Returns the headers with which a request is sent; undefined if they stay as they are. */
export type AddHeaders = (event: PausedRequest) => { name: string; value: string }[] | undefined;

export interface NavigationDeps {
  cdp: Cdp;
  addHeaders?: AddHeaders;
  egressFailureOf: (url: URL) => EgressFailure | undefined;
  /** Called if the transfer of a document fails. */
  changed: () => void;
}

/** The time limit for the body of an error response, which is only needed to recognise bot protection. */
const BODY_MS = 3000;
/** The largest document that is tested, in bytes. The browser needs many times as much memory for its elements. */
export const DOCUMENT_MAX_BYTES = 32 * 1024 * 1024;

interface VisitState {
  held: boolean;
  leaving: boolean;
  announced: boolean;
  /** Whether a document of this visit was displayed. */
  shown: boolean;
  kept: boolean;
  mayGoTo: (url: URL) => WrongPage | null;
  stopped: Stopped | null;
  answer: Answer | null;
  /** That of the document which is displayed until another one replaces it. */
  displayed: Answer | null;
  /** The request of the displayed document, and the bytes of it that have arrived. */
  document: { networkId: string | undefined; bytes: number };
  wanted: string | null;
  /** The requests of its documents. The tab may still answer those of the visit before. */
  requested: Set<string | undefined>;
}

const newVisit = (mayGoTo: VisitState['mayGoTo']): VisitState => ({
  held: false,
  leaving: false,
  announced: false,
  shown: false,
  kept: false,
  mayGoTo,
  stopped: null,
  answer: null,
  displayed: null,
  document: { networkId: undefined, bytes: 0 },
  wanted: null,
  requested: new Set(),
});

export function createNavigation(deps: NavigationDeps): NavigationControl {
  const { cdp, egressFailureOf, addHeaders } = deps;
  const state: VisitState = { ...newVisit(() => null), held: true };
  watchDocument(deps, state);

  function stop(event: PausedRequest, wrong: WrongPage, status: number | null, waitMs: number | null = null): void {
    state.stopped = { ...wrong, url: event.request.url, status, retryAfterMs: waitMs };
    state.leaving = false;
    abortRequest(cdp, event);
  }

  return {
    begin: (mayGoTo) => void Object.assign(state, newVisit(mayGoTo)),
    hold: () => void (state.held = true),
    leaving: () => state.leaving,
    announced: () => state.announced,
    stopped: () => state.stopped,
    answer: () => state.answer,
    wanted: () => state.wanted,
    onWanted(url) {
      if (!/^https?:/i.test(url)) return;
      if (state.held) state.wanted ??= url;
      else state.announced = true;
    },
    kept: () => state.kept,
    onShown() {
      state.leaving = state.announced = false;
      state.shown = true;
      state.displayed = state.answer;
    },
    onRequest(event) {
      state.announced = false;
      if (state.held) {
        state.wanted ??= event.request.url;
        return abortRequest(cdp, event);
      }
      const wrong = state.mayGoTo(new URL(event.request.url));
      if (wrong !== null) return stop(event, wrong, null);
      state.leaving = true;
      state.kept = false;
      state.requested.add(event.networkId);
      continueRequest(cdp, event, addHeaders);
    },
    async onAnswer(event) {
      if (!state.held && !state.requested.has(event.networkId)) return abortRequest(cdp, event);
      const answer = answerOf(event);
      state.answer = answer;
      if (state.held) return abortRequest(cdp, event);
      if (isRedirect(answer)) return continueRequest(cdp, event);
      const { status, headers } = answer;
      const failure = failureFromProxy(event, headers, egressFailureOf);
      if (failure !== null) return stop(event, failure, null);
      if (event.responseErrorReason !== undefined) {
        // The browser reports the network error itself.
        state.leaving = false;
        return continueRequest(cdp, event);
      }
      if (status >= 400) {
        const wrong = failureOfStatus(answer, await readBody(cdp, event));
        // The document was requested again, or the visit is over.
        if (state.answer !== answer) return abortRequest(cdp, event);
        return stop(event, wrong, status, retryAfterMs(headers['retry-after'], new Date()));
      }
      const wrong = checkHeaders(answer);
      if (wrong === null) {
        state.document = { networkId: event.networkId, bytes: 0 };
        return continueRequest(cdp, event);
      }
      // The response is not a page. A displayed document stays.
      if (!state.shown || (wrong.saved !== true && status !== 204 && status !== 205)) return stop(event, wrong, status);
      keep(state);
      abortRequest(cdp, event);
    },
  };
}

/** The displayed document stays, although it asked for another one. */
function keep(state: VisitState): void {
  state.leaving = false;
  state.answer = state.displayed;
  state.kept = true;
}

/**
 * Watches the transfer of the displayed document, and stops the visit if it is not complete: a part of a page must not be tested as
 * the page. Frames and other resources have other IDs.
 */
function watchDocument({ cdp, egressFailureOf, changed }: NavigationDeps, state: VisitState): void {
  const isDocument = (networkId: string): boolean => !state.held && networkId === state.document.networkId;
  function incomplete(message: string): void {
    const { answer } = state;
    state.stopped ??= { reason: 'navigation_failed', message, url: answer?.url ?? '', status: answer?.status ?? null, retryAfterMs: null };
    changed();
  }
  cdp.on('Network.dataReceived', ({ requestId, dataLength }) => {
    if (!isDocument(requestId)) return;
    state.document.bytes += dataLength;
    if (state.document.bytes <= DOCUMENT_MAX_BYTES || state.stopped !== null) return;
    incomplete(`The page is larger than ${DOCUMENT_MAX_BYTES / 1024 / 1024} MiB.`);
    ignoreClosedTab(cdp.send('Page.stopLoading'));
  });
  cdp.on('Network.loadingFailed', ({ requestId, errorText, canceled }) => {
    // The browser saves a file that it knows by its content.
    if (canceled === true && isDocument(requestId) && state.shown && state.leaving) {
      keep(state);
      changed();
    }
    // A page may stop its own loading. Redirects and our own stops are reported as canceled too.
    if (canceled === true || !isDocument(requestId)) return;
    const url = URL.parse(state.answer?.url ?? '');
    const failure = url === null ? undefined : egressFailureOf(url);
    incomplete(failure?.message ?? `The connection ended before the whole page had arrived (${errorText}).`);
  });
}

/** Why the egress proxy did not reach the site; null if it did. */
function failureFromProxy(
  { request, responseErrorReason }: PausedRequest,
  headers: Answer['headers'],
  egressFailureOf: NavigationDeps['egressFailureOf'],
): WrongPage | null {
  const fromProxy = headers[EGRESS_HEADER];
  if (responseErrorReason === undefined && fromProxy === undefined) return null;
  const failure = egressFailureOf(new URL(request.url));
  if (fromProxy === undefined) return failure === undefined ? null : pageFailureOf(failure);
  return { reason: fromProxy === 'refused' ? 'refused' : 'navigation_failed', message: failure?.message ?? 'The page is unreachable.' };
}

const isRedirect = ({ status, headers }: Answer): boolean => status >= 300 && status < 400 && headers.location !== undefined;

async function readBody(cdp: Cdp, { requestId }: PausedRequest): Promise<string> {
  return withTimeLimit(cdp.send('Fetch.getResponseBody', { requestId }), BODY_MS, 'reading an error response').then(
    ({ body, base64Encoded }) => (base64Encoded ? Buffer.from(body.slice(0, 400_000), 'base64').toString() : body).slice(0, 200_000),
    () => '',
  );
}

// The tab may be closed before the command is sent. The main frame reports that to the visit.
const ignoreClosedTab = (sent: Promise<unknown>): void => void sent.catch(() => undefined);

/**
 * Continues a request, or its response without the header that makes the browser load other pages in advance.
 * @param addHeaders returns the headers of a request that needs more than its own
 */
export function continueRequest(cdp: Cdp, event: PausedRequest, addHeaders?: AddHeaders): void {
  const { requestId, responseStatusCode, responseHeaders = [] } = event;
  const kept = responseHeaders.filter(({ name }) => name.toLowerCase() !== 'speculation-rules');
  if (responseStatusCode !== undefined && kept.length < responseHeaders.length)
    return ignoreClosedTab(cdp.send('Fetch.continueResponse', { requestId, responseCode: responseStatusCode, responseHeaders: kept }));
  const headers = addHeaders?.(event);
  ignoreClosedTab(cdp.send('Fetch.continueRequest', { requestId, ...(headers && { headers }) }));
}

/** Aborts a request. `Aborted` keeps the displayed document; any other reason would replace it by an error page. */
function abortRequest(cdp: Cdp, { requestId }: PausedRequest): void {
  ignoreClosedTab(cdp.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }));
}

function answerOf(event: PausedRequest): Answer {
  const headers: Record<string, string> = {};
  for (const { name, value } of event.responseHeaders ?? []) headers[name.toLowerCase()] = value;
  return { url: event.request.url, status: event.responseStatusCode ?? 0, headers };
}

/** Translates a failure of the egress proxy into the failure of a page. */
export function pageFailureOf(failure: EgressFailure): WrongPage {
  return { reason: failure.kind === 'refused' ? 'refused' : 'navigation_failed', message: failure.message };
}
