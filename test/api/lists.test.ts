/** The lists of scans and of credit movements: order, pages, filters, and whose they are. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { OUTCOME } from '../web/scan-views.ts';
import { HIGH_LIMITS, useContext, SUBMISSION } from './context.ts';

const context = useContext({
  limits: HIGH_LIMITS,
});

interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

const read = async <T>(path: string, key: string): Promise<Page<T>> => {
  const { status, body } = await context.request('GET', path, { key });
  expect(status).to.equal(200);
  return body as Page<T>;
};

/** Follows `next_cursor` to the end. `between` runs before each page but the first. @returns the pages */
async function readAll<T>(path: string, key: string, between: () => Promise<unknown> = async () => undefined): Promise<T[][]> {
  const pages: T[][] = [];
  let cursor: string | null = null;
  do {
    if (cursor !== null) await between();
    const { data, next_cursor }: Page<T> = await read(cursor === null ? path : `${path}&cursor=${cursor}`, key);
    pages.push(data);
    cursor = next_cursor;
  } while (cursor !== null);
  return pages;
}

describe('GET /v1/sites', () => {
  interface Listed {
    site: string;
    result?: { scan_id: string; score: number; passed: boolean };
    newest_scan: { scan_id: string; status: string };
  }

  it('returns each site with its newest result, and says apart how the newest scan ended, in pages and as CSV', async () => {
    const { id, key } = await context.organisation();
    await context.scan((await context.organisation()).id, { phase: 'done', outcome: OUTCOME });
    const options = withDefaults({ url: 'https://a.example/', maxPages: 7 });
    const createdAt = new Date(Date.now() - 60_000);
    const done = await context.scan(id, { phase: 'done', outcome: OUTCOME, passed: true, options, createdAt, finishedAt: createdAt });
    const failed = await context.scan(id, { phase: 'failed', passed: false, options });
    await context.scan(id, { phase: 'failed', options: withDefaults({ url: 'https://b.example/' }) });
    const sites = (await readAll<Listed>('/v1/sites?limit=1', key)).flat();
    expect(
      sites.map(({ site, result, newest_scan: newest }) => [site, result?.scan_id, result?.passed, newest.scan_id, newest.status]),
    ).to.deep.equal([
      ['b.example', undefined, undefined, sites[0]!.newest_scan.scan_id, 'failed'],
      ['a.example', done.id, true, failed.id, 'failed'],
    ]);
    const csv = await context.request('GET', '/v1/sites?format=csv&limit=1', { key });
    expect(csv.headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    const lines = csv.text.trimEnd().split('\r\n');
    expect(lines).to.have.length(3);
    const at = createdAt.toISOString();
    expect(lines[2]).to.match(
      new RegExp(
        `^a.example,,7,WCAG 2.1 AA,no,no,${done.id},${at},passed,${OUTCOME.score},${OUTCOME.violations.total},.*,${failed.id},.*,failed,$`,
      ),
    );
  });
});

describe('GET /v1/ci/scans', () => {
  interface Scan {
    scan_id: string;
    status: string;
    url: string;
    submitted_at: string;
  }
  const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minute));
  const idsOf = (scans: Scan[]): string[] => scans.map(({ scan_id }) => scan_id);

  it('returns the scan results of the organisation with URL and time, newest first', async () => {
    const { id, key } = await context.organisation({ credits: 10 });
    const { id: other } = await context.organisation();
    const old = await context.scan(id, { createdAt: at(1), phase: 'failed', passed: false, message: 'The site did not answer.' });
    await context.scan(other, { createdAt: at(2) });
    const { body } = await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    const list = await read<Scan>('/v1/ci/scans', key);
    expect(idsOf(list.data)).to.deep.equal([body.scan_id, old.id]);
    expect(list.next_cursor).to.equal(null);
    for (const scan of list.data) {
      const poll = await context.request('GET', `/v1/ci/scans/${scan.scan_id}`, { key });
      const { queue: _queue, options: _options, ...result } = poll.body;
      expect(scan).to.deep.equal(result);
    }
  });

  it('returns only scans of a site, with a verdict, and of a time', async () => {
    const { id, key } = await context.organisation();
    const scan = (minute: number, passed: boolean | null, url = 'https://example.com/') =>
      context.scan(id, { createdAt: at(minute), phase: 'done', passed, options: withDefaults({ url }) });
    const [one, two, three] = [await scan(1, true), await scan(2, false), await scan(3, true, 'https://Shop.example:8443/a')];
    const four = await scan(4, null, 'https://bücher.example/');
    for (const [query, found] of [
      ['site=example.com', [two, one]],
      ['site=SHOP.example:8443', [three]],
      ['site=b%C3%BCcher.example', [four]],
      ['passed=true', [three, one]],
      ['passed=false', [two]],
      ['passed=true&site=example.com&status=done', [one]],
      [`since=${at(2).toISOString()}&until=${at(3).toISOString()}`, [two]],
      ['passed=true&since=2026-01-01T01:02:00%2B01:00', [three]],
    ] as const)
      expect(idsOf((await read<Scan>(`/v1/ci/scans?${query}`, key)).data), query).to.deep.equal(found.map((row) => row.id));
  });

  it('returns only scans with every given pair of metadata', async () => {
    const { id, key } = await context.organisation();
    const scan = (minute: number, metadata: Record<string, string>) => context.scan(id, { createdAt: at(minute), metadata });
    const [one, two] = [await scan(1, { branch: 'main', 'a.b': '1' }), await scan(2, { branch: 'fix/a=b', 'a.b': '1' })];
    await scan(3, {});
    for (const [query, found] of [
      ['metadata.branch=main', [one]],
      ['metadata.a.b=1', [two, one]],
      ['metadata.a.b=1&metadata.branch=main&site=example.com', [one]],
    ] as const)
      expect(idsOf((await read<Scan>(`/v1/ci/scans?${query}`, key)).data), query).to.deep.equal(found.map((row) => row.id));
  });

  it('reads one page with one call, and no other organisation with a foreign cursor', async () => {
    const [mine, theirs] = [await context.organisation(), await context.organisation()];
    const older = await context.scan(mine.id, { createdAt: at(1) });
    for (const minute of [2, 3]) await context.scan(theirs.id, { createdAt: at(minute) });
    const { next_cursor: foreign } = await read('/v1/ci/scans?limit=1', theirs.key);
    context.calls.length = 0;
    const { data } = await read<Scan>(`/v1/ci/scans?cursor=${foreign}`, mine.key);
    expect(idsOf(data)).to.deep.equal([older.id]);
    expect(context.calls.filter((call) => /^(scans|scanResources|reports)\./.test(call))).to.deep.equal(['scans.search']);
  });

  for (const [query, field, type] of [
    ['status=finished', 'status', 'enum'],
    ['cursor=xyz', 'cursor', 'cursor.invalid'],
    ['state=done', 'state', 'unexpected_field'],
    ['metadata=main', 'metadata', 'type.object'],
    ['metadata.=main', 'metadata.', 'string.pattern'],
    ['metadata.branch=a&metadata.branch=b', 'metadata.branch', 'type.string'],
    ['since=yesterday', 'since', 'string.date_time'],
  ] as const)
    it(`rejects ?${query}`, async () => {
      const { key } = await context.organisation();
      const { status, body } = await context.request('GET', `/v1/ci/scans?${query}`, { key });
      expect([status, body.detail[0].type]).to.deep.equal([422, type]);
      expect(body.detail[0].loc.join('.')).to.equal(`query.${field}`);
    });
});

describe('GET /v1/billing/ledger', () => {
  interface Item {
    id: string;
    at: string;
    kind: string;
    pages: number;
    balance: number;
    scan_id: string | null;
  }
  const hold = (organisation: string, scanId: string, pages: number) =>
    context.stores.credits.reserve({ organisation, scanId, pages, partial: false, deadline: new Date(Date.now() + 60_000) });

  it('returns every movement with the balance after it, and splits the end of a scan in settle and refund', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    const [partly, wholly, failed] = [randomUUID(), randomUUID(), randomUUID()];
    for (const scanId of [partly, wholly, failed]) await hold(id, scanId, 5);
    await context.stores.credits.settle(id, partly, 3);
    await context.stores.credits.settle(id, wholly, 5);
    await context.stores.credits.settle(id, failed, 0);
    const expected = [
      ['refund', 5, 12, failed],
      ['settle', 5, 7, wholly],
      ['refund', 2, 7, partly],
      ['settle', 3, 5, partly],
      ['reserve', 5, 5, failed],
      ['reserve', 5, 10, wholly],
      ['reserve', 5, 15, partly],
      ['grant', 20, 20, null],
    ];
    const shape = ({ kind, pages, balance, scan_id }: Item) => [kind, pages, balance, scan_id];
    const { data, next_cursor } = await read<Item>('/v1/billing/ledger', key);
    expect(data.map(shape)).to.deep.equal(expected);
    expect(next_cursor).to.equal(null);
    expect(new Set(data.map((item) => item.id)).size).to.equal(data.length);
    expect((await context.request('GET', '/v1/billing/credits', { key })).body.balance).to.equal(data[0]!.balance);
    // The split is the same wherever a page ends.
    for (const limit of [1, 3]) {
      const pages = await readAll<Item>(`/v1/billing/ledger?limit=${limit}`, key);
      expect(pages.flat()).to.deep.equal(data);
      expect(pages.slice(0, -1).every(({ length }) => length === limit)).to.equal(true);
    }
  });

  it('rejects the cursor of another list', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    for (let count = 0; count < 2; count += 1) await context.scan(id);
    const { next_cursor } = await read('/v1/ci/scans?limit=1', key);
    const { status, body } = await context.request('GET', `/v1/billing/ledger?cursor=${next_cursor}`, { key });
    expect([status, body.detail[0].type]).to.deep.equal([422, 'cursor.invalid']);
  });
});
