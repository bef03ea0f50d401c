/** The page of the credits: the balance, the first steps, and the ledger. */
import type { FastifyRequest } from 'fastify';
import type { Balance } from '../../../stores/credits/credits.ts';
import { LEDGER_KIND_MEANINGS, LEDGER_KINDS, type LedgerKind, type LedgerMove } from '../../accounts/ledger-moves.ts';
import { card, definitions, emptyState, figure, link, linkButton, pagination, table, time } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { wordsIn } from '../../../report/words/words.ts';
import { DEFAULT_LOCALE } from '../../web/languages.ts';
import { firstSteps, type Steps } from './first-steps.ts';
import { titledPage } from '../titled-page.ts';

export const CREDITS_PATH = '/dashboard/credits';

/** What each kind is called. */
const KIND_NAMES: Readonly<Record<LedgerKind, string>> = { grant: 'Granted', reserve: 'Reserved', settle: 'Spent', refund: 'Released' };

export interface CreditsPage {
  request: FastifyRequest;
  plan: string;
  balance: Balance;
  steps: Steps;
  moves: readonly LedgerMove[];
  /** Whether this is the first part of the ledger. */
  first: boolean;
  nextCursor: string | null;
}

const { number } = wordsIn(DEFAULT_LOCALE, 'site');

export function creditsPage({ request, plan, balance, steps, moves, first, nextCursor }: CreditsPage): Html {
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
      moves.length === 0
        ? emptyState(
            first
              ? {
                  title: 'No credits have moved yet',
                  text: 'Each grant, and each scan that reserves, spends or releases credits, is listed here.',
                }
              : { title: 'There are no more entries', text: 'The list ended with the part before.' },
          )
        : html`${ledgerTable(moves)}
          <p>${linkButton({ text: 'Download as CSV', href: `${CREDITS_PATH}/ledger.csv`, attributes: { download: 'ledger.csv' } })}</p>`
    }
    ${pagination({ previous: first ? null : CREDITS_PATH, next: nextCursor === null ? null : `${CREDITS_PATH}?cursor=${nextCursor}` })}
    ${card({
      title: 'What the movements mean',
      body: definitions(LEDGER_KINDS.map((kind) => [KIND_NAMES[kind], sentence(LEDGER_KIND_MEANINGS[kind])])),
    })}`;
  return titledPage({ request, title: 'Credits', active: 'credits', body });
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const ledgerTable = (moves: readonly LedgerMove[]): Html =>
  table({
    id: 'ledger',
    caption: 'Movements of credits, newest first',
    captionHidden: true,
    columns: [
      { text: 'Time' },
      { text: 'Movement' },
      { text: 'Pages', numeric: true },
      { text: 'Balance after', numeric: true },
      { text: 'Scan or grant' },
    ],
    rows: moves.map(({ at, kind, pages, balance, scanId, id }) => [
      time(at),
      KIND_NAMES[kind],
      number(pages),
      number(balance),
      scanId === null
        ? html`<code translate="no">${id.replace(/^grant:/, '')}</code>`
        : link(html`<code translate="no">${scanId}</code>`, `/dashboard/scans/${scanId}`),
    ]),
  });
