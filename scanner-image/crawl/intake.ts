/** Processes visited pages in the frontier's order: lists them, recognises duplicates, queues their links. */
import { isAttempted } from '../../core/report/coverage.ts';
import type { ReportPage } from '../../core/report/schema.ts';
import { countViolations, pageScore, roundScore } from '../../core/report/score.ts';
import type { PageFindings } from '../axe/results.ts';
import type { FailedVisit, Visit } from '../browser/visit.ts';
import { pageKey, pageOfSite } from './address.ts';
import { createDuplicates, withoutQuery } from './duplicates.ts';
import type { Candidate, Frontier, Outcome } from './frontier.ts';

type LoadedVisit = Extract<Visit, { loaded: true }>;

export interface IntakeDeps {
  frontier: Frontier;
  /** The site's origin; final after the first page was loaded. */
  site(): URL;
  signedIn: boolean;
  inScope(url: URL): boolean;
  /** Called with every page in the scan's order. */
  onPage(page: ReportPage): void;
}

/** Returns the function that processes a visit. It must be called in the order of turns. */
export function createIntake(deps: IntakeDeps): (candidate: Candidate, visit: Visit) => Outcome {
  const { frontier } = deps;
  const duplicates = createDuplicates();

  function processLoaded(candidate: Candidate, visit: LoadedVisit): Outcome {
    const { title, links } = visit.facts;
    const key = pageKey(visit.finalUrl);
    if (key !== candidate.key) {
      if (frontier.covered(key)) return 'folded';
      frontier.cover(key);
    }
    const canonical = canonicalOf(visit, deps.site());
    if (duplicates.has(key, canonical, title)) return 'folded';
    if (canonical !== null && withoutQuery(pageKey(canonical)) === withoutQuery(key)) frontier.cover(pageKey(canonical));
    duplicates.add(key, canonical, title);
    for (const link of links) {
      const page = pageOfSite(link, deps.site(), deps.signedIn);
      if (page !== null && deps.inScope(page)) frontier.add(page, candidate.depth + 1);
    }
    if (visit.findings === null) return 'passed_through';
    if (candidate.depth > 0 && !deps.inScope(visit.finalUrl)) return 'folded';
    deps.onPage(testedPage(candidate, visit, visit.findings));
    return 'tested';
  }

  return (candidate, visit) => {
    if (frontier.covered(candidate.key) || frontier.spent()) return 'skipped';
    if (visit.loaded) return processLoaded(candidate, visit);
    deps.onPage(untestedPage(candidate, visit));
    return isAttempted(visit.reason) ? 'failed' : 'disallowed';
  };
}

/** Returns the canonical address of a page if it is another page of the site. */
function canonicalOf(visit: LoadedVisit, site: URL): URL | null {
  const { canonical } = visit.facts;
  if (canonical === null) return null;
  const page = pageOfSite(canonical, site);
  return page === null || pageKey(page) === pageKey(visit.finalUrl) ? null : page;
}

function testedPage(candidate: Candidate, visit: LoadedVisit, findings: PageFindings): ReportPage {
  return {
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
    frames_untested: visit.framesUntested,
    caveats: visit.caveats,
  };
}

function untestedPage(candidate: Candidate, visit: FailedVisit): ReportPage {
  return {
    url: candidate.url.href,
    final_url: visit.finalUrl,
    http_status: visit.status,
    tested: false,
    reason: visit.reason,
    message: visit.message,
    duration_ms: visit.durationMs,
  };
}
