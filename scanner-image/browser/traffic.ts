/** Subscribes to the network events of a tab: navigations of the main frame, HTTP authentication, and open requests of scripts. */
import type { CDPSession } from 'playwright-core';
import type { EgressFailure } from '../egress/egress-failures.ts';
import type { ConditionVariable } from './condition-variable.ts';
import { continueRequest, createNavigation, type BasicSignIn, type Navigation, type PausedRequest } from './navigation.ts';

export interface Traffic extends Navigation {
  /** The number of scripts and data requests with an incomplete response, except those older than `maxAgeMs`. */
  pending(maxAgeMs: number): number;
}

export interface TrafficDeps {
  changes: ConditionVariable;
  egressFailureOf: (url: URL) => EgressFailure | undefined;
  signIn?: BasicSignIn;
  now?: () => number;
}

/** Resource types that scripts wait for before they display content. */
const AWAITED_TYPES = ['Script', 'XHR', 'Fetch'];

export async function watchTraffic(cdp: CDPSession, mainFrame: string, deps: TrafficDeps): Promise<Traffic> {
  const { changes, egressFailureOf, signIn, now = Date.now } = deps;
  const navigation = createNavigation({ cdp, egressFailureOf, now, changed: () => changes.notify() });
  const credentials = answerChallenges(cdp, signIn);
  const open = watchOpenRequests(cdp, changes, now);

  cdp.on('Fetch.requestPaused', (event: PausedRequest) => {
    const answered = event.responseStatusCode !== undefined || event.responseErrorReason !== undefined;
    if (event.resourceType !== 'Document' || event.frameId !== mainFrame) continueRequest(cdp, event);
    else if (answered) void navigation.onAnswer(event).finally(() => changes.notify());
    else navigation.onRequest(event);
    changes.notify();
  });
  cdp.on('Page.frameNavigated', ({ frame }: { frame: { id: string } }) => {
    if (frame.id === mainFrame) navigation.onShown();
    changes.notify();
  });
  await cdp.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 });
  await cdp.send('Fetch.enable', {
    patterns: [
      ...(['Request', 'Response'] as const).map((requestStage) => ({ resourceType: 'Document' as const, requestStage })),
      ...(signIn === undefined ? [] : [{ urlPattern: `${signIn.origin}/*`, requestStage: 'Request' as const }]),
    ],
    handleAuthRequests: signIn !== undefined,
  });

  return {
    ...navigation,
    begin(mayGoTo) {
      navigation.begin(mayGoTo);
      open.clear();
      credentials.clear();
    },
    pending: (maxAgeMs) => open.count(maxAgeMs),
  };
}

/** Answers HTTP authentication for the origin of the sign-in: once per request, because a second challenge means that it was rejected. */
function answerChallenges(cdp: CDPSession, signIn: BasicSignIn | undefined): { clear(): void } {
  const answered = new Set<string>();
  cdp.on('Fetch.authRequired', (event: { requestId: string; request: { url: string }; authChallenge: { source?: string } }) => {
    const { requestId } = event;
    const isOurs =
      signIn !== undefined &&
      event.authChallenge.source !== 'Proxy' &&
      new URL(event.request.url).origin === signIn.origin &&
      !answered.has(requestId);
    answered.add(requestId);
    const authChallengeResponse = isOurs
      ? ({ response: 'ProvideCredentials', username: signIn.username, password: signIn.password } as const)
      : ({ response: 'CancelAuth' } as const);
    void cdp.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => undefined);
  });
  return { clear: () => answered.clear() };
}

/** Tracks the requests that scripts wait for, until the whole response has arrived. */
function watchOpenRequests(
  cdp: CDPSession,
  changes: ConditionVariable,
  now: () => number,
): { clear(): void; count(maxAgeMs: number): number } {
  const openSince = new Map<string, number>();
  cdp.on('Network.requestWillBeSent', ({ requestId, loaderId, type }: { requestId: string; loaderId: string; type?: string }) => {
    // Ignores the script of a worker, which has no loader: its start is reported here, but its end only to the worker.
    if (loaderId === '' || type === undefined || !AWAITED_TYPES.includes(type) || openSince.has(requestId)) return;
    openSince.set(requestId, now());
  });
  const end = ({ requestId }: { requestId: string }): void => {
    if (openSince.delete(requestId)) changes.notify();
  };
  cdp.on('Network.loadingFinished', end);
  cdp.on('Network.loadingFailed', end);
  return {
    clear: () => openSince.clear(),
    count(maxAgeMs) {
      const since = now() - maxAgeMs;
      let count = 0;
      for (const started of openSince.values()) if (started > since) count += 1;
      return count;
    },
  };
}
