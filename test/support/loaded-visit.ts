/** The visit of a page without findings. */
import { toPageFindings } from '../../scanner-image/page/axe/results.ts';
import type { PageFacts, Visit } from '../../scanner-image/page/visit/visit.ts';

/** Its title and its content are its path, unless `facts` has others. */
export const loadedVisit = (url: URL, facts: Partial<PageFacts> = {}, more: Partial<Visit & { loaded: true }> = {}): Visit => ({
  loaded: true,
  finalUrl: url,
  status: 200,
  facts: {
    title: url.pathname,
    language: 'en',
    contentType: 'text/html',
    size: { width: 1280, height: 720 },
    elements: 20,
    parserError: null,
    canonical: null,
    signInForm: null,
    markup: '',
    content: { whole: url.pathname, main: url.pathname },
    visible: { rendered: true, own: true, blocked: null },
    failedParts: [],
    foreignSheets: [],
    links: [],
    files: [],
    hashLinks: [],
    anchors: [],
    hasFrames: false,
    isFrameset: false,
    frames: [],
    linksBeyond: 0,
    ...facts,
  },
  findings: toPageFindings({ violations: [], incomplete: [], passes: [], inapplicable: [], failed: [] }),
  framesUntested: [],
  caveats: [],
  pictures: [],
  durationMs: 1,
  broken: false,
  ...more,
});
