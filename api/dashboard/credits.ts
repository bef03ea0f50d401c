/** The credits of the organisation: the balance, the first steps, and the ledger with its download. */
import { Readable } from 'node:stream';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { callerOf } from '../http/plugins/auth.ts';
import { type ScopedStores, storesOf } from '../accounts/scoped-stores.ts';
import { type LedgerMove, readLedger } from '../accounts/billing.ts';
import type { LedgerEntry, LedgerPage } from '../../stores/credits/ledger.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { createSemaphore, type SemaphoreLimits } from '../../platform/concurrency/semaphore.ts';
import { replicaBusy, ValidationFailure } from '../http/errors.ts';
import { decodeCursor, INVALID_CURSOR, pageOf, type Position } from '../http/pagination.ts';
import type { Balance } from '../../stores/credits/credits.ts';
import { badge, card, definitions, emptyState, figure, link, linkButton, pagination, table, time } from '../web/components.ts';
import { html, type Html, type HtmlValue, NOTHING } from '../../report/html/html.ts';
import { CREDITS_PATH, scanPath } from '../../core/web-paths.ts';
import { csvLine } from '../../report/formats/csv.ts';
import { currentLocale } from '../../report/words/current.ts';
import { wordsIn } from '../../report/words/words.ts';
import { partsOf, shown } from './scans/words.ts';
import { titledPage } from './forms.ts';
import { m, t, tr } from '../web/texts.ts';

const PER_PAGE = 25;
const PERMISSION = { config: { permission: 'credits:read' } } as const;

export const creditPages: FastifyPluginAsync = async (scope) => {
  scope.get(CREDITS_PATH, PERMISSION, async (request, reply) => {
    const { cursor } = request.query as { cursor?: string };
    const stores = storesOf(request);
    const [{ lines, nextCursor }, balance, steps] = await Promise.all([
      readLines(stores, { limit: PER_PAGE, cursor }),
      stores.credits.balance(),
      readSteps(stores),
    ]);
    const { plan } = callerOf(request).organisation;
    return reply.page(creditsPage({ request, plan, balance, steps, lines, first: cursor === undefined, nextCursor }));
  });

  const turns = createSemaphore(CSV_LIMITS);
  scope.get(`${CREDITS_PATH}/ledger.csv`, PERMISSION, async (request, reply) => {
    const turn = turns.tryAcquire(callerOf(request).organisation.id);
    if (turn === null) throw replicaBusy('key');
    // At the end of the response, also of an error, and if the client disconnects.
    reply.raw.once('close', turn.release);
    if (reply.raw.destroyed) turn.release();
    reply
      .type('text/csv; charset=utf-8')
      .header('Content-Disposition', 'attachment; filename="ledger.csv"')
      .header('Cache-Control', 'no-store')
      .header('X-Content-Type-Options', 'nosniff');
    return reply.send(Readable.from(ledgerCsv(storesOf(request).credits)));
  });
};

/** Downloads of this replica at a time: each reads the ledger in parts for as long as its client takes. */
export const CSV_LIMITS: SemaphoreLimits = { held: { total: 4, perKey: 1 } };
/** Bounds the time and the work of one download. A longer ledger can be read over REST. */
const CSV_ROWS_MAX = 50_000;
const PART = 500;

const COLUMNS = ['time', 'kind', 'pages', 'balance_after', 'scan_id', 'id'];

const rowOf = ({ at, kind, pages, balance, scanId, id }: LedgerMove): string =>
  csvLine([at.toISOString(), kind, pages, balance, scanId ?? '', id]);

/** The ledger as CSV (RFC 4180), newest first. Where it is cut, the last line says so. */
export async function* ledgerCsv(credits: Parameters<typeof readLedger>[0], rowsMax = CSV_ROWS_MAX): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  let cursor: string | undefined;
  for (let rows = 0; rows < rowsMax;) {
    const { items, nextCursor } = await readLedger(credits, { limit: Math.min(PART, rowsMax - rows), cursor });
    rows += items.length;
    if (items.length > 0) yield items.map(rowOf).join('');
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
  yield csvLine([`The list is cut after ${rowsMax} rows. GET /v1/billing/ledger returns all.`]);
}

export const LINE_KINDS = ['granted', 'reserved', 'spent', 'released'] as const;
export type LineKind = (typeof LINE_KINDS)[number];

export interface LedgerLine {
  at: Date;
  kind: LineKind;
  /** The credits that the organisation has more, or less if negative. */
  change: number;
  /** The credits that were reserved for a scan that has ended. */
  reserved: number;
  /** The credits that could be reserved afterwards. */
  available: number;
  /** The ID of the grant; null for a scan. */
  grant: string | null;
  scanId: string | null;
  /** Null if the scan is not stored any more. */
  scan: ScanRow | null;
}

/**
 * Returns a part of the ledger, newest first. A scan is at the place of its settle, and until then at that of its reserve.
 * @throws ValidationFailure if the cursor is not one of this list
 */
async function readLines(
  { credits, scans }: { credits: { ledger(page: LedgerPage): Promise<LedgerEntry[]> }; scans: Pick<ScopedStores['scans'], 'findMany'> },
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<{ lines: LedgerLine[]; nextCursor: string | null }> {
  const found = await credits.ledger({ before: sequenceOf(decodeCursor(cursor)), perScan: true, limit: limit + 1 });
  const { items, nextCursor } = pageOf(found, limit, ({ at, sequence }) => ({ at, id: String(sequence) }));
  const ids = items.flatMap(({ scanId }) => scanId ?? []);
  const rows = new Map(ids.length === 0 ? [] : (await scans.findMany(ids)).map((row) => [row.id, row]));
  return { lines: items.map((entry) => lineOf(entry, rows.get(entry.scanId ?? '') ?? null)), nextCursor };
}

/** @throws ValidationFailure if the cursor is of another list */
function sequenceOf(position: Position | null): number | null {
  if (position === null) return null;
  if (!/^\d{1,15}$/.test(position.id)) throw new ValidationFailure([INVALID_CURSOR]);
  return Number(position.id);
}

function lineOf({ id, at, operation, scanId, pages, released, balance }: LedgerEntry, scan: ScanRow | null): LedgerLine {
  const shared = { at, reserved: pages + released, available: balance, scanId, scan };
  if (operation === 'grant') return { ...shared, kind: 'granted', change: pages, grant: id.replace(/^grant:/, '') };
  const kind = operation === 'reserve' ? 'reserved' : pages > 0 ? 'spent' : 'released';
  return { ...shared, kind, change: -pages, grant: null };
}

/** What each kind is called, and what it means. */
const KINDS: Readonly<Record<LineKind, { text: string; meaning: string }>> = {
  granted: { text: m`Granted`, meaning: m`Credits were added.` },
  reserved: { text: m`Reserved`, meaning: m`A scan has not ended. Other scans cannot use the credits that it may need.` },
  spent: {
    text: m`Spent`,
    meaning: m`A scan has ended. It cost one credit per tested page, and the rest of what it reserved was released.`,
  },
  released: { text: m`Released`, meaning: m`A scan has ended, and cost nothing, because it tested no page.` },
};

interface CreditsPage {
  request: FastifyRequest;
  plan: string;
  balance: Balance;
  steps: Steps;
  lines: readonly LedgerLine[];
  /** Whether this is the first part of the ledger. */
  first: boolean;
  nextCursor: string | null;
}

const number = (n: number): string => wordsIn(currentLocale(), 'site').number(n);

function creditsPage({ request, plan, balance, steps, lines, first, nextCursor }: CreditsPage): Html {
  const body = html`<p class="lead">${t`One credit pays for one tested page. Pages that could not be tested cost nothing.`}</p>
    ${figure({ value: number(balance.balance), label: t`credits can be reserved now`, kind: balance.balance === 0 ? 'warn' : 'good' })}
    ${definitions([
      [t`Reserved for running scans`, number(balance.held)],
      [t`Spent`, number(balance.spent)],
      [t`Granted in total`, number(balance.granted)],
      [t`Plan`, plan],
    ])}
    ${firstSteps(steps, request.viewer?.permissions ?? [])}
    <h2>${t`Ledger`}</h2>
    ${
      lines.length === 0
        ? emptyState(
            first
              ? {
                  title: t`No credits have moved yet`,
                  text: t`Each grant, and each scan that reserves, spends or releases credits, is listed here.`,
                }
              : { title: t`There are no more entries`, text: t`The list ended with the part before.` },
          )
        : html`${ledgerTable(lines)}
          <p>${t`The CSV, like the API, has what each scan reserved, spent and released in lines of their own.`}</p>
          <p>${linkButton({ text: t`Download as CSV`, href: `${CREDITS_PATH}/ledger.csv`, attributes: { download: 'ledger.csv' } })}</p>`
    }
    ${pagination({ previous: first ? null : CREDITS_PATH, next: nextCursor === null ? null : `${CREDITS_PATH}?cursor=${nextCursor}` })}
    ${card({
      title: t`What the movements mean`,
      body: definitions([
        ...LINE_KINDS.map((kind) => [tr(KINDS[kind].text), tr(KINDS[kind].meaning)] as const),
        [t`Available after`, t`The credits that could be reserved afterwards: without those of scans in progress.`],
      ]),
    })}`;
  return titledPage({ request, title: t`Credits`, active: 'credits', body });
}

const ledgerTable = (lines: readonly LedgerLine[]): Html =>
  table({
    id: 'ledger',
    caption: t`Movements of credits, newest first`,
    captionHidden: true,
    columns: [
      { text: t`Time` },
      { text: t`Movement` },
      { text: t`Scan or grant`, wide: true },
      { text: t`Credits`, numeric: true },
      { text: t`Available after`, numeric: true },
    ],
    rows: lines.map((line) => [time(line.at), movement(line), subject(line), signed(line.change), number(line.available)]),
  });

/** With a sign, which zero does not have. */
const signed = (n: number): string => `${n > 0 ? '+' : n < 0 ? '\u2212' : ''}${number(Math.abs(n))}`;

function movement({ kind, change, reserved }: LedgerLine): Html {
  const part = kind === 'spent' && -change < reserved ? t`${-change} of ${reserved} reserved` : null;
  const all = kind === 'released' ? t`all ${reserved} reserved` : null;
  const note = part ?? all;
  return html`${tr(KINDS[kind].text)}${note !== null && html`<span class="small soft">${note}</span>`}`;
}

function subject({ grant, scanId, scan }: LedgerLine): Html {
  if (scanId === null) return html`<span class="address">${shown(grant ?? '')}</span>`;
  if (scan === null) return t`Scan ${html`<code translate="no">${scanId}</code>`}, which is no longer stored`;
  const { host, path } = partsOf(scan.options.url);
  return link(html`${host}<span class="soft address">${shown(path, 80)}</span>`, scanPath(scanId));
}

export interface Steps {
  /** The organisation has ever been granted credits. */
  credits: boolean;
  /** It has a live key. */
  key: boolean;
  /** It has submitted a scan. */
  scan: boolean;
}

/** Reads which steps are done. */
export async function readSteps({ credits, keys, scans }: Pick<ScopedStores, 'credits' | 'keys' | 'scans'>): Promise<Steps> {
  const [{ granted }, live, submitted] = await Promise.all([
    credits.balance(),
    keys.list({ status: 'live', limit: 1 }),
    scans.search({ limit: 1 }),
  ]);
  return { credits: granted > 0, key: live.length > 0, scan: submitted.rows.length > 0 };
}

/** The steps with their states; nothing if all are done. @param permissions of the person, who gets links only to what is permitted */
export function firstSteps(steps: Steps, permissions: readonly string[]): Html {
  if (steps.credits && steps.key && steps.scan) return NOTHING;
  const may = (permission: string, text: string, href: string): HtmlValue => (permissions.includes(permission) ? link(text, href) : text);
  const items: [done: boolean, text: HtmlValue][] = [
    [steps.credits, t`Get credits. The operator of this service grants them.`],
    [steps.key, t`${may('keys:write', t`Create an API key`, '/dashboard/settings/api-keys/new')} for your pipeline.`],
    [steps.scan, t`${may('scans:write', t`Scan a site`, '/dashboard/scans/new')}, or submit one with the key.`],
  ];
  return card({
    title: t`First steps`,
    body: html`<ol>
      ${items.map(([done, text]) => html`<li>${text} ${done ? badge('good', t`Done`) : badge('plain', t`To do`)}</li>`)}
    </ol>`,
  });
}
