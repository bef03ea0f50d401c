/** Walks a site: several workers load pages, and what they find is taken in one after the other, in the frontier's order. */
import type { ReportPage } from '../../core/report/schema.ts';
import { pageScore, roundScore, countViolations } from '../../core/report/score.ts';
import type { Visit } from '../browser/tab.ts';
import { pageKey, pageOfSite } from './address.ts';
import type { Candidate, End, Frontier } from './frontier.ts';

export interface CrawlDeps {
  frontier: Frontier;
  workers: number;
  /** Loads a page in a worker's tab. */
  visit(worker: number, candidate: Candidate): Promise<Visit>;
  /** The site's origin; known once the first page was loaded. */
  site(): URL;
  signedIn: boolean;
  inScope(url: URL): boolean;
  /** Called with every page in the scan's order. */
  onPage(page: ReportPage): void;
  /** Called after every change of what is known. */
  onProgress(): void;
  /** Called before the first page is taken in; what it throws ends the crawl. */
  onFirst(visit: Visit): Promise<void>;
  /** Called once the first page's links are known, so that other sources may add theirs after them. */
  afterFirst(): Promise<void>;
  /** True when nothing more may be started: the time is over. */
  timeIsUp(): boolean;
  signal?: AbortSignal;
}

/** A page that was tested, as later pages may turn out to be the same: by address, or by naming it as their canonical one. */
interface Known {
  title: string;
}

/** @returns every page, in order. @throws what a visit or `onFirst` throws */
export async function crawl(parts: CrawlDeps): Promise<ReportPage[]> {
  const { frontier } = parts;
  const pages: ReportPage[] = [];
  const known = new Map<string, Known>();
  /** Canonical addresses that tested pages name, which were not seen themselves. */
  const claimed = new Map<string, Known>();
  const arrived = new Map<number, { candidate: Candidate; visit: Visit }>();
  let due = 0;
  const busy = new Map<number, Promise<number>>();

  function take(candidate: Candidate, visit: Visit): End {
    if (frontier.covered(candidate.key) || frontier.spent()) return 'skipped';
    if (!visit.loaded) {
      list({
        url: candidate.url.href,
        final_url: visit.finalUrl,
        http_status: visit.status,
        tested: false,
        reason: visit.reason,
        message: visit.message,
        duration_ms: visit.durationMs,
      });
      return 'failed';
    }
    const key = pageKey(visit.finalUrl);
    if (key !== candidate.key) {
      if (frontier.covered(key)) return 'folded';
      frontier.cover(key);
    }
    const canonical = canonicalOf(visit);
    if (isKnown(key, canonical, visit.facts.title)) return 'folded';
    if (canonical !== null && pathOf(pageKey(canonical)) === pathOf(key)) frontier.cover(pageKey(canonical));
    const itself = { title: visit.facts.title };
    known.set(key, itself);
    if (canonical !== null) claimed.set(pageKey(canonical), itself);
    for (const link of visit.facts.links) {
      const page = pageOfSite(link, parts.site(), parts.signedIn);
      if (page !== null && parts.inScope(page)) frontier.add(page, candidate.depth + 1);
    }
    const { findings } = visit;
    if (findings === null) return 'passed_through';
    if (candidate.depth > 0 && !parts.inScope(visit.finalUrl)) return 'folded';
    list({
      url: candidate.url.href,
      final_url: visit.finalUrl.href,
      http_status: visit.status,
      title: visit.facts.title,
      language: visit.facts.language,
      tested: true,
      score: roundScore(pageScore(findings.rules), countViolations(findings.violations).total),
      rules: findings.rules,
      duration_ms: visit.durationMs,
      violations: findings.violations,
      needs_review: findings.needsReview,
    });
    return 'tested';
  }

  function list(page: ReportPage): void {
    pages.push(page);
    parts.onPage(page);
  }

  /**
   * The same page under another address. A canonical link is believed where it differs in the query alone, or where the
   * titles agree too: many a site names its start page as canonical of every page.
   */
  function isKnown(key: string, canonical: URL | null, title: string): boolean {
    const claim = claimed.get(key);
    if (claim !== undefined && claim.title === title) return true;
    if (canonical === null) return false;
    const target = known.get(pageKey(canonical)) ?? claimed.get(pageKey(canonical));
    return target !== undefined && (target.title === title || pathOf(pageKey(canonical)) === pathOf(key));
  }

  /** What a page names as its canonical address, if that is another page of the site. */
  function canonicalOf(visit: Extract<Visit, { loaded: true }>): URL | null {
    const { canonical } = visit.facts;
    if (canonical === null) return null;
    const page = pageOfSite(canonical, parts.site());
    return page === null || pageKey(page) === pageKey(visit.finalUrl) ? null : page;
  }

  async function takeIn(): Promise<void> {
    for (let next = arrived.get(due); next !== undefined; next = arrived.get(due)) {
      arrived.delete(due);
      if (due === 0) await parts.onFirst(next.visit);
      frontier.settle(next.candidate, take(next.candidate, next.visit));
      if (due === 0) await parts.afterFirst();
      due += 1;
      parts.onProgress();
    }
  }

  const aborted = new Promise<never>((_resolve, reject) => {
    parts.signal?.addEventListener('abort', () => reject(parts.signal?.reason as Error), { once: true });
  });
  aborted.catch(() => undefined);
  for (;;) {
    parts.signal?.throwIfAborted();
    for (let worker = 0; worker < parts.workers; worker++) {
      if (busy.has(worker) || parts.timeIsUp()) continue;
      const candidate = frontier.take();
      if (candidate === null) break;
      const visiting = parts.visit(worker, candidate).then((visit) => {
        arrived.set(candidate.turn, { candidate, visit });
        return worker;
      });
      busy.set(worker, visiting);
      // The first page says what the site is: nothing else starts before it is known.
      if (candidate.turn === 0) break;
    }
    if (busy.size === 0) break;
    busy.delete(await Promise.race([...busy.values(), aborted]));
    await takeIn();
  }
  return pages;
}

/** A page's key without its query. */
function pathOf(key: string): string {
  return key.split('?', 1)[0] ?? key;
}
