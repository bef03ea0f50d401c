/**
 * Watches what a tab loads: judges documents by their answer before they are shown, keeps the main frame where it is
 * while it is tested, answers a sign-in, and knows whether scripts still wait for something.
 */
import type { CDPSession } from 'playwright-core';
import type { Problem } from '../egress/egress-failures.ts';
import { EGRESS_HEADER } from '../egress/egress-failures.ts';
import { judgeError, judgeHead, retryAfterMs, type Answer, type WrongPage } from '../crawl/page-checks.ts';
import { settledWithin, type Watched } from './wait.ts';

/** HTTP basic, for one origin. */
export interface BasicSignIn {
  origin: string;
  username: string;
  password: string;
}

/** Why a document was stopped before it was shown. */
export interface Stopped extends WrongPage {
  url: string;
  status: number | null;
  /** The server's wish to be left alone for a while, in milliseconds. */
  retryAfterMs: number | null;
}

export interface Traffic {
  /** Lets the main frame load a document; `mayGoTo` is asked at every hop. */
  begin(mayGoTo: (url: URL) => WrongPage | null): void;
  /** From now on the main frame stays where it is. */
  hold(): void;
  /** True while the main frame is on its way to another document. */
  leaving(): boolean;
  /** Why the last document was stopped. */
  stopped(): Stopped | null;
  /** The answer of the document that is shown. */
  answer(): Answer | null;
  /** When a navigation was last stopped that the shown document began; the browser may never say that such a document is loaded. */
  keptAt(): number | null;
  /** How many scripts and data requests wait for the whole of their answer, those aside that wait longer than `patienceMs`. */
  pending(patienceMs: number): number;
}

interface Paused {
  requestId: string;
  request: { url: string };
  frameId: string;
  resourceType: string;
  responseStatusCode?: number;
  responseErrorReason?: string;
  responseHeaders?: { name: string; value: string }[];
}

/** How much time the body of an error may take; it only serves to tell a wall from an error. */
const BODY_MS = 3000;

/** What a page waits for to show something by a script. */
const AWAITED_TYPES = ['Script', 'XHR', 'Fetch'];

export async function watchTraffic(
  cdp: CDPSession,
  mainFrame: string,
  parts: { watched: Watched; problemOf: (url: URL) => Problem | undefined; signIn?: BasicSignIn; now?: () => number },
): Promise<Traffic> {
  const { watched, problemOf, signIn, now = Date.now } = parts;
  const open = new Map<string, number>();
  const asked = new Set<string>();
  let held = true;
  let leaving = false;
  /** True once a document of this visit is shown. */
  let shown = false;
  let kept: number | null = null;
  let mayGoTo: (url: URL) => WrongPage | null = () => null;
  let stopped: Stopped | null = null;
  let answer: Answer | null = null;

  // The tab may be gone by the time an answer is sent; whoever waits for the page hears of that elsewhere.
  const send = (method: 'Fetch.continueRequest' | 'Fetch.failRequest', params: object): void =>
    void cdp.send(method, params as never).catch(() => undefined);
  const goOn = (event: Paused): void => send('Fetch.continueRequest', { requestId: event.requestId });
  // "Aborted" leaves the document that is shown in its place; any other reason would put an error page there.
  const abort = (event: Paused): void => send('Fetch.failRequest', { requestId: event.requestId, errorReason: 'Aborted' });

  function stop(event: Paused, wrong: WrongPage, status: number | null, waitMs: number | null = null): void {
    stopped = { ...wrong, url: event.request.url, status, retryAfterMs: waitMs };
    leaving = false;
    abort(event);
  }

  function mainRequest(event: Paused): void {
    if (held) return abort(event);
    const url = new URL(event.request.url);
    const wrong = mayGoTo(url);
    if (wrong !== null) return stop(event, wrong, null);
    leaving = true;
    goOn(event);
  }

  async function mainAnswer(event: Paused): Promise<void> {
    const before = answer;
    const { status, headers } = (answer = answerOf(event));
    if (held) return abort(event);
    if (event.responseErrorReason !== undefined) {
      leaving = false;
      const problem = problemOf(new URL(event.request.url));
      if (problem !== undefined) return stop(event, fromProblem(problem), null);
      return goOn(event);
    }
    if (status >= 300 && status < 400 && headers.location !== undefined) return goOn(event);
    const own = headers[EGRESS_HEADER];
    if (own !== undefined) {
      const problem = problemOf(new URL(event.request.url));
      const message = problem?.message ?? 'The page cannot be reached.';
      return stop(event, { reason: own === 'refused' ? 'refused' : 'navigation_failed', message }, null);
    }
    if (status >= 400) {
      const body = await settledWithin(cdp.send('Fetch.getResponseBody', { requestId: event.requestId }), BODY_MS).then(
        ({ body: text, base64Encoded }) =>
          (base64Encoded ? Buffer.from(text.slice(0, 400_000), 'base64').toString() : text).slice(0, 200_000),
        () => '',
      );
      return stop(event, judgeError(answer, body), status, retryAfterMs(headers['retry-after'], now()));
    }
    const wrong = judgeHead(answer);
    if (wrong === null) return goOn(event);
    if (shown && (wrong.reason === 'download' || status === 204 || status === 205)) {
      // The document that is shown would stay: what its script asked for here is no page, and it is one.
      leaving = false;
      answer = before;
      kept = now();
      return abort(event);
    }
    stop(event, wrong, status);
  }

  cdp.on('Fetch.requestPaused', (event: Paused) => {
    const answered = event.responseStatusCode !== undefined || event.responseErrorReason !== undefined;
    if (event.resourceType === 'Document' && event.frameId === mainFrame) {
      if (answered) void mainAnswer(event).finally(() => watched.changed());
      else mainRequest(event);
    } else goOn(event);
    watched.changed();
  });
  cdp.on('Fetch.authRequired', (event: { requestId: string; request: { url: string }; authChallenge: { source?: string } }) => {
    const ours =
      signIn !== undefined &&
      event.authChallenge.source !== 'Proxy' &&
      new URL(event.request.url).origin === signIn.origin &&
      !asked.has(event.requestId);
    asked.add(event.requestId);
    const response = ours
      ? { response: 'ProvideCredentials', username: signIn.username, password: signIn.password }
      : { response: 'CancelAuth' };
    void cdp
      .send('Fetch.continueWithAuth', { requestId: event.requestId, authChallengeResponse: response as never })
      .catch(() => undefined);
  });
  cdp.on('Page.frameNavigated', ({ frame }: { frame: { id: string } }) => {
    if (frame.id === mainFrame) {
      leaving = false;
      shown = true;
    }
    watched.changed();
  });
  // An answer's head is not yet what a script waits for. Only the requests of documents have a loader: the script that a
  // worker is made of is told here as well, but its end only to the worker.
  cdp.on('Network.requestWillBeSent', ({ requestId, loaderId, type }: { requestId: string; loaderId: string; type?: string }) => {
    if (loaderId !== '' && type !== undefined && AWAITED_TYPES.includes(type) && !open.has(requestId)) open.set(requestId, now());
  });
  const over = ({ requestId }: { requestId: string }): void => {
    if (open.delete(requestId)) watched.changed();
  };
  cdp.on('Network.loadingFinished', over);
  cdp.on('Network.loadingFailed', over);
  await cdp.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 });
  await cdp.send('Fetch.enable', {
    patterns: [
      ...(['Request', 'Response'] as const).map((requestStage) => ({ resourceType: 'Document' as const, requestStage })),
      ...(signIn === undefined ? [] : [{ urlPattern: `${signIn.origin}/*`, requestStage: 'Request' as const }]),
    ],
    handleAuthRequests: signIn !== undefined,
  });

  return {
    begin(judge) {
      mayGoTo = judge;
      held = false;
      leaving = false;
      shown = false;
      kept = null;
      stopped = null;
      answer = null;
      open.clear();
      asked.clear();
    },
    hold() {
      held = true;
    },
    leaving: () => leaving,
    stopped: () => stopped,
    answer: () => answer,
    keptAt: () => kept,
    pending(patienceMs) {
      const since = now() - patienceMs;
      let count = 0;
      for (const started of open.values()) if (started > since) count += 1;
      return count;
    },
  };
}

function answerOf(event: Paused): Answer {
  const headers: Record<string, string> = {};
  for (const { name, value } of event.responseHeaders ?? []) headers[name.toLowerCase()] = value;
  return { url: event.request.url, status: event.responseStatusCode ?? 0, headers };
}

/** What a problem of the egress proxy means for a page. */
export function fromProblem(problem: Problem): WrongPage {
  return { reason: problem.kind === 'refused' ? 'refused' : 'navigation_failed', message: problem.message };
}
