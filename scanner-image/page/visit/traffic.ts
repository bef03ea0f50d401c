/** Subscribes to the network events of a tab: navigations of the main frame, HTTP authentication, and requests. */
import type { Cdp } from '../browser/cdp.ts';
import type { EgressFailure } from '../../egress/egress-failures.ts';
import type { ConditionVariable } from '../browser/condition-variable.ts';
import type { OriginValue, SignIn } from '../../sign-in/sign-in.ts';
import { continueRequest, createNavigation, type AddHeaders, type Navigation } from './navigation.ts';
import { NO_BUFFERS, watchRequests, type Requests } from './requests.ts';
import { blockedPatterns, isBlocked, EVERY_WAIT, type WaitPlan } from '../../crawl/wait-history.ts';

export interface Traffic extends Omit<Navigation, 'begin'> {
  requests: Requests;
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

  cdp.on('Fetch.requestPaused', (event) => {
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
  await cdp.send('Network.enable', NO_BUFFERS);
  await cdp.send('Fetch.enable', {
    patterns: [
      ...(['Request', 'Response'] as const).map((requestStage) => ({ resourceType: 'Document' as const, requestStage })),
      ...[...origins].map((origin) => ({ urlPattern: `${origin}/*`, requestStage: 'Request' as const })),
    ],
    handleAuthRequests: signIn !== undefined,
  });

  return {
    ...navigation,
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
