/**
 * Collects what failed on the page of a tab: scripts, style sheets and data, uncaught errors, and requests that the egress rules
 * refused. Addresses and errors count once, so that the result does not depend on how often a page tries again.
 */
import { sameFamily } from '../../crawl/address.ts';
import { EGRESS_HEADER, type EgressFailure } from '../../egress/egress-failures.ts';
import { shortError, withoutQuery, type Faults } from './caveats.ts';
import type { Cdp } from '../browser/cdp.ts';
import type { PageFacts } from './visit.ts';

const KINDS = { Script: 'scripts', Stylesheet: 'styles', XHR: 'data', Fetch: 'data' } as const;
/** The document of a frame has a reason of its own, and no one sees reports. */
const NOT_PARTS = new Set(['Document', 'CSPViolationReport', 'Preflight']);

/** Errors that change nothing on the page; and those of media, which no one starts and which our browser may have no codec for. */
const HARMLESS = /^ResizeObserver loop|^AbortError\b|^NotAllowedError: play\(\)|^NotSupportedError: .*\bsupported source/;
/** What a request that failed becomes in a script that does not expect it. The request itself is reported. */
const FOLLOWS_FROM_REQUEST = /^TypeError: (?:Failed to fetch|NetworkError)/;
/** More of them say nothing more. */
const ERRORS_MAX = 100;

interface State {
  /** Requests without an answer, by ID. */
  open: Map<string, { url: string; type: string }>;
  /** Why parts failed, by kind and address without query. */
  failed: Record<'scripts' | 'styles' | 'data', Map<string, { url: string; why: string }>>;
  refused: Set<string>;
  /** Addresses whose request the page or the scan ended. */
  ended: Set<string>;
  /** Uncaught errors by the browser's ID. */
  errors: Map<number, string>;
}

const newState = (): State => ({
  open: new Map(),
  failed: { scripts: new Map(), styles: new Map(), data: new Map() },
  refused: new Set(),
  ended: new Set(),
  errors: new Map(),
});

/** Watches a tab. */
export async function watchPageFaults(cdp: Cdp, mainFrame: string, egressFailureOf: (url: URL) => EgressFailure | undefined) {
  let state = newState();
  const clear = (): void => void (state = newState());
  watchErrors(cdp, () => state.errors);

  const isRefused = (url: string): boolean => {
    const parsed = URL.parse(url.replace(/^ws/, 'http'));
    return parsed !== null && egressFailureOf(parsed)?.kind === 'refused';
  };
  const fail = (url: string, type: string | undefined, why: string): void => addFailed(state, url, type, why);

  cdp.on('Page.frameNavigated', ({ frame }) => {
    if (frame.id === mainFrame) clear();
  });
  cdp.on('Network.requestWillBeSent', ({ requestId, type, request }) => {
    if (type !== undefined && !NOT_PARTS.has(type)) state.open.set(requestId, { url: request.url, type });
  });
  cdp.on('Network.responseReceived', ({ requestId, type, response }) => {
    const sent = state.open.get(requestId);
    if (sent === undefined) return;
    const { status, mimeType, headers } = response;
    const fromProxy = headers[EGRESS_HEADER];
    if (fromProxy === 'refused') state.refused.add(withoutQuery(sent.url));
    else if (fromProxy !== undefined) fail(sent.url, type, 'unreachable');
    else if (status >= 400) fail(sent.url, type, `status ${status}`);
    else if (type === 'Stylesheet' && mimeType === 'text/html') fail(sent.url, type, mimeType);
  });
  cdp.on('Network.loadingFinished', ({ requestId }) => void state.open.delete(requestId));
  cdp.on('Network.loadingFailed', ({ requestId, type, errorText, canceled, blockedReason }) => {
    const sent = state.open.get(requestId);
    if (sent === undefined) return;
    state.open.delete(requestId);
    const address = withoutQuery(sent.url);
    if (isRefused(sent.url)) state.refused.add(address);
    // Blocked by the scan itself, which has a caveat for it.
    else if (canceled === true || blockedReason === 'inspector' || errorText === 'net::ERR_BLOCKED_BY_CLIENT') state.ended.add(address);
    else fail(sent.url, type, blockedReason ?? 'not loaded');
  });
  cdp.on('Network.webSocketCreated', ({ requestId, url }) => void state.open.set(requestId, { url, type: 'WebSocket' }));
  cdp.on('Network.webSocketClosed', ({ requestId }) => {
    const sent = state.open.get(requestId);
    if (sent !== undefined && isRefused(sent.url)) state.refused.add(withoutQuery(sent.url));
  });
  await cdp.send('Runtime.enable');

  return {
    /** Forgets the faults of the previous page. */
    clear,
    /** Whether a style sheet did not arrive. */
    lacksStyles(url: string): boolean {
      const address = withoutQuery(url);
      return state.failed.styles.get(address)?.url === url || state.refused.has(address) || state.ended.has(address);
    },
    /** The faults so far, for the page with these facts. */
    read: (page: URL, { failedParts }: Pick<PageFacts, 'failedParts'>): Faults => faultsOf(page, state, failedParts),
  };
}

export type PageFaults = Awaited<ReturnType<typeof watchPageFaults>>;

function addFailed({ failed }: State, url: string, type: string | undefined, why: string): void {
  const kind = KINDS[type as keyof typeof KINDS] as (typeof KINDS)[keyof typeof KINDS] | undefined;
  if (kind === undefined) return;
  const known = failed[kind].get(withoutQuery(url));
  if (known === undefined || why < known.why) failed[kind].set(withoutQuery(url), { url, why });
}

function faultsOf(page: URL, { failed, refused, ended, errors }: State, failedParts: PageFacts['failedParts']): Faults {
  // What the browser loaded and did not use, such as a module with the type of a page.
  for (const { kind, url } of failedParts) {
    const address = withoutQuery(url);
    if (!refused.has(address) && !ended.has(address) && !failed[kind].has(address)) failed[kind].set(address, { url, why: 'not used' });
  }
  const names = (kind: keyof typeof failed): string[] =>
    [...failed[kind]]
      .filter(([, { url }]) => kind !== 'data' || sameFamily(page, new URL(url)))
      .filter(([address]) => !refused.has(address))
      .map(([address, { why }]) => `${address} (${why})`)
      .sort();
  const parts = { scripts: names('scripts'), styles: names('styles'), data: names('data'), refused: [...refused].sort() };
  const isExplained = refused.size + parts.data.length > 0;
  const inPage = ` (${withoutQuery(page.href)})`;
  const uncaught = [...new Set([...errors.values()].map((error) => error.replace(inPage, '')))]
    .filter((error) => !isExplained || !FOLLOWS_FROM_REQUEST.test(error))
    .sort();
  return { ...parts, errors: uncaught };
}

/** Collects the uncaught errors and rejections of the page's own scripts. */
function watchErrors(cdp: Cdp, errors: () => State['errors']): void {
  /** The isolated worlds. */
  const isolated = new Set<number>();
  cdp.on('Runtime.executionContextCreated', ({ context }) => {
    if ((context.auxData as { isDefault?: boolean } | undefined)?.isDefault === false) isolated.add(context.id);
  });
  cdp.on('Runtime.executionContextDestroyed', ({ executionContextId }) => void isolated.delete(executionContextId));
  cdp.on('Runtime.executionContextsCleared', () => isolated.clear());
  cdp.on('Runtime.exceptionThrown', ({ exceptionDetails }) => {
    const { exceptionId, executionContextId, exception, text, url } = exceptionDetails;
    if (executionContextId !== undefined && isolated.has(executionContextId)) return;
    const what = exception?.description ?? (exception?.value === undefined ? text : `${text} ${String(exception.value)}`);
    const message = shortError(what, url);
    if (!HARMLESS.test(message) && errors().size < ERRORS_MAX) errors().set(exceptionId, message);
  });
  cdp.on('Runtime.exceptionRevoked', ({ exceptionId }) => void errors().delete(exceptionId));
}
