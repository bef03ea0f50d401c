/** Tracks the document in the main frame of a tab, and detects the loss of the tab. */
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { withoutAnchor } from '../../crawl/address.ts';
import type { Cdp } from '../browser/cdp.ts';
import { type ConditionVariable, VisitEnded } from './visit.ts';

export interface ShownDocument {
  /** The number of documents that the frame has displayed so far. */
  documents: number;
  loaderId: string;
  /** Its current address, which scripts may change. Without the fragment, unless that is a route (`withoutAnchor`). */
  url: string;
  parsed: boolean;
  loaded: boolean;
}

interface Watched {
  changes: ConditionVariable;
  /** Calls its function when the tab is lost, with a sentence. */
  onLost: (listener: (why: string) => void) => void;
  /** Whether all fragments of addresses are routes. */
  hasRoutes: boolean;
}

export async function watchMainFrame(cdp: Cdp, { changes, onLost, hasRoutes }: Watched) {
  const shown: ShownDocument = { documents: 0, loaderId: '', url: 'about:blank', parsed: false, loaded: false };
  let lost: string | null = null;
  const { promise: loss, reject } = Promise.withResolvers<never>();
  loss.catch(() => undefined);
  onLost((why) => {
    lost ??= why;
    reject(new VisitEnded('crashed', why, true));
    changes.notify();
  });

  const { id } = (await cdp.send('Page.getFrameTree')).frameTree.frame;
  cdp.on('Page.frameNavigated', ({ frame }) => {
    const url = withoutAnchor(frame.url + (frame.urlFragment ?? ''), hasRoutes);
    if (frame.id === id)
      Object.assign(shown, { documents: shown.documents + 1, loaderId: frame.loaderId, url, parsed: false, loaded: false });
    changes.notify();
  });
  // A script changed the address without loading a document (`history.pushState`, `location.hash`).
  cdp.on('Page.navigatedWithinDocument', ({ frameId, url }) => {
    if (frameId !== id) return;
    shown.url = withoutAnchor(url, hasRoutes);
    changes.notify();
  });
  cdp.on('Page.lifecycleEvent', (event) => {
    if (event.frameId !== id || event.loaderId !== shown.loaderId) return;
    if (event.name === 'DOMContentLoaded') shown.parsed = true;
    else if (event.name === 'load') shown.parsed = shown.loaded = true;
    else return;
    changes.notify();
  });
  return {
    id,
    shown,
    /** Why the tab was lost; null while it is usable. */
    lost: (): string | null => lost,
    /**
     * Waits for a promise until the tab is lost.
     * @throws TimeLimitExceeded after `ms` milliseconds, VisitEnded if the tab is lost
     */
    whileAlive: <T>(promise: Promise<T>, ms: number, what: string): Promise<T> => withTimeLimit(Promise.race([promise, loss]), ms, what),
  };
}

export type MainFrame = Awaited<ReturnType<typeof watchMainFrame>>;
