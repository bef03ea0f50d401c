/** The notifications of a SARIF file: everything that was not tested, or is not listed. Pure. */
import type { Notification } from 'sarif';
import { isAttempted } from '../results/coverage.ts';
import type { Report } from '../schema/schema.ts';
import { findingsOf } from '../schema/tested-pages.ts';
import type { Severity } from './sarif-results.ts';
import { PARTIAL, pageGaps, scanNotes, untestedMessage } from '../view/gaps.ts';
import { elements, relativeUriOf } from './shared.ts';

/** The notes on the scan that say that results may be missing. */
const NOTES_TO_HEED: ReadonlySet<string> = new Set([PARTIAL, 'consent_failed', 'consent_shown_again']);

/** @param left the numbers of results that are left out, by severity */
export function notificationsOf(report: Report, left: ReadonlyMap<Severity, number>): Notification[] {
  const notifications: Notification[] = [];
  const add = (id: string, level: 'note' | 'warning', text: string, page?: { url: string; index: number }): void => {
    notifications.push({
      descriptor: { id },
      level,
      message: { text },
      ...(page !== undefined && {
        locations: [{ physicalLocation: { artifactLocation: { uri: relativeUriOf(page.url), index: page.index } } }],
        properties: { url: page.url },
      }),
    });
  };
  for (const [index, page] of report.pages.entries()) {
    const at = { url: page.url, index };
    if (!page.tested) {
      add(`page_${page.reason}`, isAttempted(page.reason) ? 'warning' : 'note', untestedMessage(page), at);
      continue;
    }
    for (const { kind, message } of pageGaps(page)) add(kind, 'warning', message || kind, at);
    for (const { rule, nodes, nodes_total: total } of findingsOf(page))
      if (total > nodes.length) add('elements_not_listed', 'warning', `${rule}: ${nodes.length} of ${elements(total)} are listed.`, at);
  }
  for (const { kind, message } of scanNotes(report)) add(kind, NOTES_TO_HEED.has(kind) ? 'warning' : 'note', message);
  if (left.size > 0) add('results_not_listed', 'warning', leftMessage(left));
  return notifications;
}

const WORDS: Readonly<Record<Severity, string>> = {
  critical: 'critical',
  serious: 'serious',
  moderate: 'moderate',
  minor: 'minor',
  review: 'to review',
  advice: 'of advice',
};

function leftMessage(left: ReadonlyMap<Severity, number>): string {
  const total = [...left.values()].reduce((sum, count) => sum + count, 0).toLocaleString('en');
  const each = [...left].map(([severity, count]) => `${count.toLocaleString('en')} ${WORDS[severity]}`);
  return `${total} more results (${each.join(', ')}) are left out, because code scanning accepts no larger file. The JSON export has them.`;
}
