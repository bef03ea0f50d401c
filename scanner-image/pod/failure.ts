/** Permanent failures of a scan, with messages that the caller can act on. Pure. */
import type { PodFailureReason } from '../../core/protocol/pod-messages.ts';
import type { PageProgress } from '../../core/scan/counts.ts';
import type { FailedVisit } from '../page/visit/visit.ts';

/** A permanent failure, which the Job must not retry. */
export class ScanFailed extends Error {
  override readonly name = 'ScanFailed';
  readonly reason: PodFailureReason;
  readonly pages: PageProgress;
  constructor(reason: PodFailureReason, message: string, pages: PageProgress = { scanned: 0, failed: 0, total: 0 }) {
    super(message);
    this.reason = reason;
    this.pages = pages;
  }
}

/** Returns the failure of a scan whose first page could not be tested. */
export function firstPageFailure(url: URL, visit: FailedVisit, signedIn: boolean): ScanFailed {
  const message = `${url.href} could not be tested. ${visit.message}`;
  const failed = (reason: PodFailureReason, more = ''): ScanFailed =>
    new ScanFailed(reason, message + more, { scanned: 0, failed: 1, total: 1 });
  switch (visit.reason) {
    case 'refused':
      return failed('target_refused');
    case 'not_html':
    case 'document':
      return failed('target_not_html', ' Submit the URL of a web page.');
    case 'sign_in_page':
      return signedIn ? failed('sign_in_failed', ' The site did not accept the sign-in.') : failed('sign_in_required');
    case 'http_error':
      if (visit.status === 401)
        return signedIn
          ? failed('sign_in_failed', ' The site did not accept the sign-in.')
          : failed('sign_in_required', ' To test the page, give the scan a sign-in.');
      return failed('target_unreachable');
    case 'redirected_away':
      return failed('redirected_away', ' Submit the URL that it redirects to.');
    case 'robots_disallowed':
      return failed('robots_disallowed');
    case 'sign_in_lost':
      return failed('sign_in_failed');
    case 'navigation_failed':
    case 'timeout':
    case 'rate_limited':
      return failed('target_unreachable');
    case 'bot_wall':
      return failed('bot_wall');
    case 'not_rendered':
      return failed('nothing_shown');
    case 'crashed':
    case 'test_failed':
    case 'redirected_to_gate':
    case 'excluded':
    case 'same_as':
      return failed('no_page_tested');
  }
}
