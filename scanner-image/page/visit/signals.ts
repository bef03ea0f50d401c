/**
 * What may change a page after its first look: the scripts that ran on it, what they observe, and who sends to them. Which scripts ran
 * is the browser's word, not the markup's: handlers in attributes and scripts that removed themselves ran, blocked ones did not.
 */
import { createHash } from 'node:crypto';
import type { Cdp } from '../browser/cdp.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import { withoutQuery } from './caveats.ts';

/** The signals of a page at its first look. */
export interface Signals {
  /** Scripts ran. Nothing else changes a page whose files have arrived. */
  ran: boolean;
  /** Names the scripts and what they observe. Pages of a template with the same key behave alike, as far as one can tell. */
  key: string;
  /** Workers and open connections send whenever they like, so the second look at such a page is never left out. */
  connected: boolean;
}

export const NO_SIGNALS: Signals = { ran: false, key: '', connected: false };

/** More scripts of a document than this are told apart by their number. */
const READ_MAX = 50;
/** The time limit for reading the scripts of a document, in milliseconds. */
const READ_MS = 2000;
/** Data in a script, which differs from page to page where the script does not. */
const DATA = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|\b\d[\w.]*/g;

interface RanScript {
  session: Cdp;
  id: string;
  url: string;
  /** It is a part of its document. */
  isInline: boolean;
}

/** Watches the scripts of a tab. */
export async function watchScripts(cdp: Cdp, mainFrame: string) {
  let scripts: RanScript[] = [];

  async function follow(session: Cdp): Promise<void> {
    session.on('Debugger.scriptParsed', ({ scriptId: id, url, executionContextAuxData, startLine, startColumn }) => {
      const isOurs = (executionContextAuxData as { isDefault?: boolean } | undefined)?.isDefault === false;
      // Scripts that others evaluate, as ours and those of a driver, have no address.
      if (isOurs || url === '') return;
      scripts.push({ session, id, url, isInline: startLine + startColumn > 0 });
    });
    await session.send('Debugger.enable');
    await session.send('Debugger.setSkipAllPauses', { skip: true });
  }

  cdp.on('Page.frameNavigated', ({ frame }) => {
    if (frame.id === mainFrame) scripts = [];
  });
  await follow(cdp);

  return {
    /** Watches a frame in a process of its own. */
    follow,
    ran: (): boolean => scripts.length > 0,
    /** Names the scripts that ran, sorted. Those in the document are named by what they do, without the data in them. */
    async names(documentUrl: string): Promise<string[]> {
      const page = withoutQuery(documentUrl);
      const inline = scripts.filter(({ url, isInline }) => isInline || withoutQuery(url) === page);
      const files = new Set(scripts.filter((script) => !inline.includes(script)).map(({ url }) => withoutQuery(url)));
      const reading = Promise.all(inline.slice(0, READ_MAX).map(shapeOf));
      const shapes = await withTimeLimit(reading, READ_MS, 'reading scripts').catch(() => ['unread']);
      return [...new Set([...files, ...shapes]), `${inline.length > READ_MAX ? inline.length : ''}`].sort();
    },
  };
}

export type Scripts = Awaited<ReturnType<typeof watchScripts>>;

async function shapeOf({ session, id }: RanScript): Promise<string> {
  const { scriptSource } = await session.send('Debugger.getScriptSource', { scriptId: id });
  return createHash('sha256').update(scriptSource.replaceAll(DATA, '')).digest('base64').slice(0, 12);
}
