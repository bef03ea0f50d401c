/** The page of the credits: the balance, the first steps, and the ledger. */
import type { FastifyRequest } from 'fastify';
import type { Balance } from '../../../stores/credits/credits.ts';
import { card, definitions, emptyState, figure, link, linkButton, pagination, table, time } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { scanPath } from '../../../core/web-paths.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { DEFAULT_LOCALE } from '../../web/languages.ts';
import { partsOf, shown } from '../views/scan-words.ts';
import { firstSteps, type Steps } from './first-steps.ts';
import { LINE_KINDS, type LedgerLine, type LineKind } from './lines.ts';
import { titledPage } from '../titled-page.ts';

export const CREDITS_PATH = '/dashboard/credits';

/** What each kind is called, and what it means. */
const KINDS: Readonly<Record<LineKind, { text: string; meaning: string }>> = {
  granted: { text: 'Granted', meaning: 'Credits were added.' },
  reserved: { text: 'Reserved', meaning: 'A scan has not ended. Other scans cannot use the credits that it may need.' },
  spent: { text: 'Spent', meaning: 'A scan has ended. It cost one credit per tested page, and the rest of what it reserved was released.' },
  released: { text: 'Released', meaning: 'A scan has ended, and cost nothing, because it tested no page.' },
};

export interface CreditsPage {
  request: FastifyRequest;
  plan: string;
  balance: Balance;
  steps: Steps;
  lines: readonly LedgerLine[];
  /** Whether this is the first part of the ledger. */
  first: boolean;
  nextCursor: string | null;
}

const { number } = wordsIn(DEFAULT_LOCALE, 'site');

export function creditsPage({ request, plan, balance, steps, lines, first, nextCursor }: CreditsPage): Html {
  const body = html`<p class="lead">One credit pays for one tested page. Pages that could not be tested cost nothing.</p>
    ${figure({ value: number(balance.balance), label: 'credits can be reserved now', kind: balance.balance === 0 ? 'warn' : 'good' })}
    ${definitions([
      ['Reserved for running scans', number(balance.held)],
      ['Spent', number(balance.spent)],
      ['Granted in total', number(balance.granted)],
      ['Plan', plan],
    ])}
    ${firstSteps(steps, request.viewer?.permissions ?? [])}
    <h2>Ledger</h2>
    ${
      lines.length === 0
        ? emptyState(
            first
              ? {
                  title: 'No credits have moved yet',
                  text: 'Each grant, and each scan that reserves, spends or releases credits, is listed here.',
                }
              : { title: 'There are no more entries', text: 'The list ended with the part before.' },
          )
        : html`${ledgerTable(lines)}
          <p>The CSV, like the API, has what each scan reserved, spent and released in lines of their own.</p>
          <p>${linkButton({ text: 'Download as CSV', href: `${CREDITS_PATH}/ledger.csv`, attributes: { download: 'ledger.csv' } })}</p>`
    }
    ${pagination({ previous: first ? null : CREDITS_PATH, next: nextCursor === null ? null : `${CREDITS_PATH}?cursor=${nextCursor}` })}
    ${card({
      title: 'What the movements mean',
      body: definitions([
        ...LINE_KINDS.map((kind) => [KINDS[kind].text, KINDS[kind].meaning] as const),
        ['Available after', 'The credits that could be reserved afterwards: without those of scans in progress.'],
      ]),
    })}`;
  return titledPage({ request, title: 'Credits', active: 'credits', body });
}

const ledgerTable = (lines: readonly LedgerLine[]): Html =>
  table({
    id: 'ledger',
    caption: 'Movements of credits, newest first',
    captionHidden: true,
    columns: [
      { text: 'Time' },
      { text: 'Movement' },
      { text: 'Scan or grant', wide: true },
      { text: 'Credits', numeric: true },
      { text: 'Available after', numeric: true },
    ],
    rows: lines.map((line) => [time(line.at), movement(line), subject(line), signed(line.change), number(line.available)]),
  });

/** With a sign, which zero does not have. */
const signed = (n: number): string => `${n > 0 ? '+' : n < 0 ? '\u2212' : ''}${number(Math.abs(n))}`;

function movement({ kind, change, reserved }: LedgerLine): Html {
  const part = kind === 'spent' && -change < reserved ? `${number(-change)} of ${number(reserved)} reserved` : null;
  const all = kind === 'released' ? `all ${number(reserved)} reserved` : null;
  const note = part ?? all;
  return html`${KINDS[kind].text}${note !== null && html`<span class="small soft">${note}</span>`}`;
}

function subject({ grant, scanId, scan }: LedgerLine): Html {
  if (scanId === null) return html`<span class="address">${shown(grant ?? '')}</span>`;
  if (scan === null) return html`Scan <code translate="no">${scanId}</code>, which is no longer stored`;
  const { host, path } = partsOf(scan.options.url);
  return link(html`${host}<span class="soft address">${shown(path, 80)}</span>`, scanPath(scanId));
}
