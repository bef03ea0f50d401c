/** Keeps the views of reports that were read last in memory. A view never changes until retention deletes it. */
import type { ReportView } from '../core/report/view.ts';
import type { Reports } from '../stores/reports.ts';

/** Parsed, the largest view needs about 3 MB. */
const VIEWS_MAX = 16;
/** After this time a view is read again, so that a deleted one disappears, in milliseconds. */
const KEPT_MS = 300_000;

/** Returns `readView` with a memory. Requests for one view at the same time share one read. */
export function cachedViews(reports: Pick<Reports, 'readView'>, clock: () => Date): Pick<Reports, 'readView'> {
  /** Least recently used first. */
  const kept = new Map<string, { view: Promise<ReportView | null>; until: number }>();
  return {
    readView(scanId) {
      const now = clock().getTime();
      const known = kept.get(scanId);
      kept.delete(scanId);
      if (known !== undefined && known.until > now) {
        kept.set(scanId, known);
        return known.view;
      }
      const entry = { view: reports.readView(scanId), until: now + KEPT_MS };
      kept.set(scanId, entry);
      const forget = (): void => void (kept.get(scanId) === entry && kept.delete(scanId));
      // Not kept: the view may be stored a moment later, or the object store may come back.
      entry.view.then((view) => view === null && forget(), forget);
      if (kept.size > VIEWS_MAX) kept.delete(kept.keys().next().value!);
      return entry.view;
    },
  };
}
