/**
 * Seals a tab before something in its page is activated: no request leaves it that could change something at a server. Requests are
 * stopped by the browser before they are sent. Sockets, which cannot be stopped there, are refused by a policy that the documents get, as
 * are workers, whose requests nobody sees. Windows are not opened in any tab (`chromium.ts`), dialogs are dismissed and downloads denied.
 */
import { destructiveWordsOf } from '../../crawl/destructive.ts';
import type { Cdp } from '../browser/cdp.ts';
import type { Target } from '../browser/target.ts';
import { evaluate, isolatedWorldOf } from '../scripts/source.ts';
import type { PausedRequest } from './navigation.ts';

/** Files of the page, such as scripts that it loads when they are needed. Data is not among them: many sites sign out by GET. */
const FILES: ReadonlySet<string> = new Set(['Script', 'Stylesheet', 'Font', 'Image', 'Media']);
/** More frames are not sealed, and nothing is activated then. */
const FRAMES_MAX = 30;

/** How a sealed tab answers a request: lets it pass, stops it, or says that a document has no content, so that the page stays. */
export function sealedAnswer({ request, resourceType, responseStatusCode }: PausedRequest): 'pass' | 'stop' | 'no content' {
  if (resourceType === 'Document') return responseStatusCode === undefined ? 'no content' : 'stop';
  const url = URL.parse(request.url);
  return request.method === 'GET' && FILES.has(resourceType) && url !== null && destructiveWordsOf(url).length === 0 ? 'pass' : 'stop';
}

/** Answers a paused request of a sealed tab. */
export function answerSealed(cdp: Cdp, event: PausedRequest): void {
  const { requestId } = event;
  const answer = sealedAnswer(event);
  const sent =
    answer === 'pass'
      ? cdp.send('Fetch.continueRequest', { requestId })
      : answer === 'stop'
        ? cdp.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' })
        : cdp.send('Fetch.fulfillRequest', { requestId, responseCode: 204 });
  void sent.catch(() => undefined);
}

interface SealedTab {
  cdp: Cdp;
  target: Target;
  traffic: { seal(): Promise<unknown> };
}

/**
 * Seals a tab for good. Its page must have no open socket and no worker.
 * @returns false if it has too many frames. An error means that it is not sealed either
 */
export async function sealTab({ cdp, target, traffic }: SealedTab): Promise<boolean> {
  const processes = target.frameProcesses().map(({ session }) => session);
  for (const session of processes) session.on('Fetch.requestPaused', (event) => answerSealed(session, event));
  await Promise.all([
    traffic.seal(),
    ...processes.map((session) => session.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] })),
    // Cookies of a session are not used for what is activated.
    cdp.send('Network.clearBrowserCookies'),
  ]);
  let left = FRAMES_MAX;
  for (const session of [cdp, ...processes]) {
    const { frameTree } = await session.send('Page.getFrameTree');
    const trees = [frameTree];
    for (const { frame, childFrames = [] } of trees) {
      if (left-- <= 0) return false;
      trees.push(...childFrames);
      if (!(await evaluate<boolean>(await isolatedWorldOf(session, frame.id), 'curbcut.seal()'))) return false;
    }
  }
  return true;
}
