/** A tab of the browser in a context of its own, and the processes that its page spreads over. */
import type { Browser } from './chromium.ts';
import type { Session } from './cdp.ts';
import { emulateScreen, introduce, type Identity } from './identity.ts';

/** A frame that has a process of its own, because its site is another one. */
export interface FrameProcess {
  /** The ID of the frame. */
  id: string;
  session: Session;
}

export interface Target {
  cdp: Session;
  /** The frames of the page in processes of their own, also those within others. */
  frameProcesses(): readonly FrameProcess[];
  /** What the browser knows about a frame in a process of its own; its main process answers, also if that of the frame hangs. */
  describe(frame: FrameProcess): Promise<{ url: string; parentId: string | null }>;
  /** Calls the function when the tab crashed or was closed, with a sentence. */
  onLost(listener: (why: string) => void): void;
  /** Closes the tab, even if its page is busy. */
  close(): Promise<void>;
}

/** The size of every page, in CSS pixels. */
export const VIEWPORT = { width: 1280, height: 720 };

/**
 * Service workers would answer the requests of later pages, and run after their page was left. They are refused as in a private
 * window of some browsers.
 */
const NO_SERVICE_WORKERS = `if (globalThis.ServiceWorkerContainer)
  ServiceWorkerContainer.prototype.register = function register() {
    return Promise.reject(new DOMException('The operation is insecure.', 'SecurityError'));
  };`;

/** Opens a tab without any state. */
export async function openTarget(browser: Browser, identity: Identity): Promise<Target> {
  const { root } = browser.connection;
  const { browserContextId } = await root.send('Target.createBrowserContext', { disposeOnDetach: true });
  const [{ targetId }] = await Promise.all([
    root.send('Target.createTarget', { url: 'about:blank', browserContextId, ...VIEWPORT }),
    root.send('Browser.setDownloadBehavior', { behavior: 'deny', browserContextId }),
    root.send('Target.setDiscoverTargets', { discover: true, filter: [{ type: 'page' }, { exclude: true }] }),
  ]);
  const { sessionId } = await root.send('Target.attachToTarget', { targetId, flatten: true });
  const cdp = browser.connection.session(sessionId);
  const processes = new Map<string, FrameProcess>();

  /** Prepares a session of the page, before its document loads anything. */
  function prepare(session: Session): Promise<unknown> {
    session.on('Target.attachedToTarget', ({ sessionId: id, targetInfo }) => {
      const child = browser.connection.session(id);
      if (targetInfo.type === 'page') return ignoreGone(root.send('Target.closeTarget', { targetId: targetInfo.targetId }));
      // A worker: it has nothing to test, but waits to be started.
      if (targetInfo.type !== 'iframe') return ignoreGone(child.send('Runtime.runIfWaitingForDebugger'));
      processes.set(targetInfo.targetId, { id: targetInfo.targetId, session: child });
      child.onClosed(() => {
        // A frame may be back in a process of its own already.
        if (processes.get(targetInfo.targetId)?.session === child) processes.delete(targetInfo.targetId);
      });
      ignoreGone(prepare(child));
      ignoreGone(child.send('Runtime.runIfWaitingForDebugger'));
    });
    // A scan has no user who could answer a dialog, so it is dismissed. Only the question whether to leave a page is accepted.
    session.on('Page.javascriptDialogOpening', ({ type }) =>
      ignoreGone(session.send('Page.handleJavaScriptDialog', { accept: type === 'beforeunload' })),
    );
    return Promise.all([
      session.send('Page.enable'),
      // Otherwise scripts for new documents do not run in documents without scripts of their own.
      session.send('Runtime.enable'),
      session.send('Page.addScriptToEvaluateOnNewDocument', { source: NO_SERVICE_WORKERS }),
      session.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true }),
      introduce(session, identity),
      session === cdp ? emulateScreen(session, VIEWPORT) : null,
    ]);
  }

  // Windows without an opener do not belong to the page's session.
  const closeOther = ({ targetInfo }: { targetInfo: { browserContextId?: string; targetId: string } }): void => {
    if (targetInfo.browserContextId === browserContextId && targetInfo.targetId !== targetId)
      ignoreGone(root.send('Target.closeTarget', { targetId: targetInfo.targetId }));
  };
  let lose = (_why: string): void => undefined;
  const onCrash = (crashed: { targetId: string }): void => {
    if (crashed.targetId === targetId) lose('The page crashed its tab.');
  };
  root.on('Target.targetCreated', closeOther);
  root.on('Target.targetCrashed', onCrash);
  cdp.onClosed(() => {
    root.off('Target.targetCreated', closeOther);
    root.off('Target.targetCrashed', onCrash);
    lose('The tab was closed.');
  });
  await prepare(cdp);
  return {
    cdp,
    frameProcesses: () => [...processes.values()],
    async describe({ id }) {
      const { targetInfo } = await root.send('Target.getTargetInfo', { targetId: id });
      return { url: targetInfo.url, parentId: targetInfo.parentFrameId ?? null };
    },
    onLost: (listener) => void (lose = listener),
    close: () => root.send('Target.disposeBrowserContext', { browserContextId }),
  };
}

/** The target may be gone before the command is sent. */
function ignoreGone(sent: Promise<unknown>): void {
  sent.catch(() => undefined);
}
