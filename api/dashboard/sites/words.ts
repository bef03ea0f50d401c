/** How sites are described: what their scans have in common, verdicts, changes since the baseline. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { withDefaults } from '../../../core/scan/options.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { link, time } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { nothingYet, number, pagesText, stateBadge, verdictBadge } from '../views/scan-words.ts';

/** What comparable scans have in common. */
export function optionsText({ options, signedIn }: Pick<ScanRow, 'options' | 'signedIn'>): string {
  const { url, maxPages, wcagVersion, wcagLevel, crawl } = options;
  const parts = [
    `Up to ${pagesText(maxPages)}`,
    `WCAG ${wcagVersion} ${wcagLevel}`,
    isDeepStrictEqual(crawl, withDefaults({ url }).crawl) ? null : 'own rules for pages',
    signedIn === true ? 'signed in' : null,
  ];
  return parts.filter((part) => part !== null).join(', ');
}

/** The verdict of a scan that is done, or how it ended without one. */
export const endBadge = (row: Pick<ScanRow, 'phase' | 'passed'>): Html =>
  row.phase === 'done' ? verdictBadge(row) : stateBadge(row.phase);

/** The violations that are new and fixed since the baseline. */
export function changesCell({ outcome }: Pick<ScanRow, 'outcome'>): Html {
  const difference = outcome?.baseline?.difference;
  return difference === undefined ? nothingYet : html`${number(difference.new)} new, ${number(difference.fixed)} fixed`;
}

/** A link to a scan, by the time of its submission. */
export const scanLink = ({ id, createdAt }: Pick<ScanRow, 'id' | 'createdAt'>): Html => link(time(createdAt), `/dashboard/scans/${id}`);
