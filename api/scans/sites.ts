/** The sites of an organisation, each with its newest result: for the dashboard, over REST, and as CSV. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { isDeepStrictEqual } from 'node:util';
import { type Static, Type } from 'typebox';
import { TERMINAL_PHASES } from '../../core/scan/phases.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { growing, nullable, oneOf } from '../../core/schemas.ts';
import { csvLine } from '../../report/formats/csv.ts';
import type { Position } from '../../stores/scans/positions.ts';
import type { ScanRow } from '../../stores/scans/scan-row.ts';
import type { VerdictFilter } from '../../stores/scans/scan-search.ts';
import type { ListedHost, Site, SiteSearch } from '../../stores/scans/sites.ts';
import type { NextRun } from '../../stores/schedules/schedules.ts';
import { type ScopedStores, storesOf } from '../accounts/scoped-stores.ts';
import { EXAMPLES } from '../http/examples.ts';
import { decodeCursor, encodeCursor, NEXT_CURSOR, pageQuery } from '../http/pagination.ts';
import { answer, KEYED, keyWith, LIMITED, reference, refusals, textAnswer } from '../http/responses.ts';
import { ListedScan, toListed } from './scan-list.ts';

/** A site with what its row shows. */
export interface ListedSite {
  host: ListedHost;
  /** The group of comparable options that stands for it: `mainOf`. */
  main: Site;
  /** Of the main group: the newest scan that has ended. */
  newest: ScanRow;
  /** The newest scan that is done. Null: there is none. */
  done: ScanRow | null;
  /** The next run of a schedule. Null: there is none. */
  nextAt: Date | null;
  /** The newest scans of other groups, at most `OTHERS_LISTED`. */
  others: readonly OtherGroup[];
}

export interface OtherGroup {
  site: Site;
  newest: ScanRow;
}

/** The group that stands for a site: that of the next scheduled run, else the newest that has a result, else the newest. */
export function mainOf(groups: readonly Site[], runs: readonly NextRun[]): Site | undefined {
  const next = runs.find((run) => groups.some((group) => isFor(run, group)));
  if (next !== undefined) return groups.find((group) => isFor(next, group));
  const resultAt = ({ history }: Site): number => history.at(-1)?.at.getTime() ?? 0;
  return groups.filter(({ done }) => done !== null).sort((a, b) => resultAt(b) - resultAt(a))[0] ?? groups[0];
}

export const isFor = (run: NextRun, { site, optionsKey }: Site): boolean => run.site === site && run.optionsKey === optionsKey;

export interface SiteQuery {
  /** Part of a host or its name. Empty: every site. */
  search: string;
  verdict: VerdictFilter | null;
  /** Only the hidden sites. */
  hidden: boolean;
  /** Only sites after this one in the list. Null: from the first one on. */
  after: Position | null;
}

/** The sites that a search reads for one page, if most of them may not have the verdict. */
const READ_FOR_VERDICT = 100;
/** A search without the verdict, which is that of the main group: `hasVerdict`. */
const toSiteSearch = ({ search, verdict, hidden, after }: SiteQuery, limit: number): SiteSearch => ({
  text: search,
  hidden,
  after,
  limit: verdict === null ? limit : Math.max(limit, READ_FOR_VERDICT),
});
const hasVerdict = ({ newest: { phase, passed } }: ListedSite, verdict: VerdictFilter | null): boolean =>
  verdict === null || (verdict === 'none' ? phase === 'done' && passed === null : passed === (verdict === 'passed'));

/** @param others the most other groups of each site */
export async function readSites(stores: ScopedStores, query: SiteQuery, limit: number, others: number) {
  const { sites, ...found } = await stores.sites.search(toSiteSearch(query, limit));
  const matching = (await withScans(stores, sites, others)).filter((one) => hasVerdict(one, query.verdict));
  const listed = matching.slice(0, limit);
  return { ...found, sites: listed, next: matching.length > limit ? listed.at(-1)!.host.position : found.next };
}

/** A site whose newest scan was removed a moment ago has its newest result instead. It is left out if that was removed, too. */
async function withScans({ scans, schedules }: ScopedStores, hosts: readonly ListedHost[], most: number): Promise<ListedSite[]> {
  if (hosts.length === 0) return [];
  const runs = await schedules.nextRuns(hosts.map(({ site }) => site));
  const chosen = hosts.map((host) => {
    const main = mainOf(host.groups, runs)!;
    return { host, main, others: host.groups.filter((one) => one !== main).slice(0, most) };
  });
  const ids = chosen.flatMap(({ main, others }) => [main.scan, main.done, ...others.map(({ scan }) => scan)]);
  const byId = new Map((await scans.findMany(ids.filter((id) => id !== null))).map((row) => [row.id, row]));
  return chosen.flatMap(({ host, main, others }) => {
    const { newest, done } = rowsOf(main, byId);
    const nextAt = runs.find((run) => isFor(run, main))?.nextAt ?? null;
    return newest === null ? [] : [{ host, main, newest, done, nextAt, others: othersOf(others, byId) }];
  });
}

/** A scan from another page of the host that ended without a result says nothing about the site: then the result is the newest. */
export function rowsOf({ scan, done }: Site, byId: ReadonlyMap<string, ScanRow>): { newest: ScanRow | null; done: ScanRow | null } {
  const result = (done !== null && byId.get(done)) || null;
  const newest = byId.get(scan) ?? result;
  const isElsewhere = newest?.phase !== 'done' && pathOf(newest) !== pathOf(result);
  return { newest: result !== null && isElsewhere ? result : newest, done: result };
}

/** What follows the host in the address of a scan. */
function pathOf(row: ScanRow | null): string {
  const url = URL.parse(row?.options.url ?? '');
  return url === null ? '' : url.pathname + url.search + url.hash;
}

export const othersOf = (groups: readonly Site[], byId: ReadonlyMap<string, ScanRow>): OtherGroup[] =>
  groups.flatMap((site) => {
    const newest = byId.get(site.scan);
    return newest === undefined ? [] : [{ site, newest }];
  });

/** Whether a scan has rules for its pages: the defaults of an earlier version count as none. */
export const hasOwnRules = ({ url, crawl }: ScanRow['options']): boolean => !isDeepStrictEqual(crawl, withDefaults({ url }).crawl);

/** Sites in the CSV, and how many are read at a time. */
const CSV_SITES_MAX = 2_000;
const CSV_PART = 200;

const CSV_COLUMNS =
  'site,name,max_pages,wcag,own_rules,signed_in,scan,finished_at,verdict,score,violations,critical,serious,moderate,minor,newest_scan,newest_finished_at,newest_state,next_run';

/** Returns the sites of a query as CSV, with a byte order mark for spreadsheets. The result is that of one scan, `scan`. */
export async function readSitesCsv(stores: ScopedStores, query: SiteQuery): Promise<string> {
  const listed: ListedSite[] = [];
  let { after } = query;
  do {
    const found = await readSites(stores, { ...query, after }, CSV_PART, 0);
    listed.push(...found.sites);
    after = found.next;
  } while (after !== null && listed.length < CSV_SITES_MAX);
  const lines = listed.map(({ host, newest, done, nextAt }) => {
    const { score, violations: counts } = done?.outcome ?? {};
    const verdict = done === null || done.passed === null ? null : done.passed ? 'passed' : 'did_not_pass';
    const result = [done?.id, done?.finishedAt?.toISOString(), verdict, score];
    const numbers = [counts?.total, counts?.critical, counts?.serious, counts?.moderate, counts?.minor];
    const last = [newest.id, newest.finishedAt?.toISOString(), newest.phase, nextAt?.toISOString()];
    const { options, signedIn = false } = done ?? newest;
    const common = [options.maxPages, `WCAG ${options.wcagVersion} ${options.wcagLevel}`, hasOwnRules(options), signedIn];
    return csvLine([host.site, host.name, ...common, ...result, ...numbers, ...last]);
  });
  const end = after !== null ? csvLine([`The list is cut after ${listed.length} sites.`]) : '';
  return `\uFEFF${csvLine(CSV_COLUMNS.split(','))}${lines.join('')}${end}`;
}

export const ListedSiteResult = Type.Object(
  {
    site: Type.String({ description: 'The host, with its port if that is not the default.' }),
    name: nullable(Type.String({ description: 'What the organisation calls it.' })),
    options: Type.Object(
      {
        max_pages: Type.Integer(),
        wcag_version: Type.String(),
        wcag_level: Type.String(),
        own_rules: Type.Boolean({ description: 'Whether rules choose or prepare the pages.' }),
        signed_in: Type.Boolean(),
      },
      { description: 'What the comparable scans of the row have in common.' },
    ),
    /** Absent: no scan of the site is done. */
    result: Type.Optional(reference(ListedScan)),
    newest_scan: Type.Object(
      {
        scan_id: Type.String({ format: 'uuid' }),
        status: growing(TERMINAL_PHASES),
        finished_at: nullable(Type.String({ format: 'date-time' })),
      },
      {
        description:
          'The newest scan that has ended. It has no result if it failed or was canceled: then `result` is that of an earlier one.',
      },
    ),
    next_run_at: nullable(Type.String({ format: 'date-time', description: 'When a schedule scans it next.' })),
  },
  { $id: 'Site' },
);
export const SiteList = Type.Object({ data: Type.Array(reference(ListedSiteResult)), next_cursor: NEXT_CURSOR }, { $id: 'SiteList' });

function toResult({ host, newest, done, nextAt }: ListedSite): Static<typeof ListedSiteResult> {
  const { id, phase, finishedAt } = newest;
  const { options, signedIn = false } = done ?? newest;
  const { maxPages, wcagVersion, wcagLevel } = options;
  return {
    site: host.site,
    name: host.name,
    options: {
      ...{ max_pages: maxPages, wcag_version: wcagVersion, wcag_level: wcagLevel },
      ...{ own_rules: hasOwnRules(options), signed_in: signedIn },
    },
    ...(done && { result: toListed(done) }),
    newest_scan: { scan_id: id, status: phase as (typeof TERMINAL_PHASES)[number], finished_at: finishedAt?.toISOString() ?? null },
    next_run_at: nextAt?.toISOString() ?? null,
  };
}

const json = answer('The sites.', reference(SiteList), LIMITED, { sites: EXAMPLES.sites });

const LIST_SITES = {
  operationId: 'listSites',
  tags: ['Scans'],
  summary: 'List sites',
  description:
    'Returns the sites of the organisation with their newest results, that of the newest scan first, without those that the dashboard hides. ' +
    `As CSV it has all from \`cursor\` on, at most ${CSV_SITES_MAX}, whatever the \`limit\`.`,
  security: keyWith('scans:read'),
  querystring: pageQuery({ format: oneOf(['json', 'csv'], { default: 'json' }) }),
  response: {
    200: { ...json, content: { ...json.content, ...textAnswer('', 'text/csv').content } },
    ...refusals(KEYED),
  },
};

export const siteListRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  scope.get('/v1/sites', { config: { permission: 'scans:read' }, schema: LIST_SITES }, async (request, reply) => {
    const { limit, cursor, format } = request.query;
    const query = { search: '', verdict: null, hidden: false, after: decodeCursor(cursor) };
    if (format === 'csv') return reply.type('text/csv; charset=utf-8').send(await readSitesCsv(storesOf(request), query));
    const { sites, next } = await readSites(storesOf(request), query, limit, 0);
    return { data: sites.map(toResult), next_cursor: next && encodeCursor(next) };
  });
};
