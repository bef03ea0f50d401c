import { expect } from 'chai';
import { SCAN_ID, replies, result, serviceForTests, type Answering } from './service.ts';

const LIST = 'GET /v1/ci/scans';
const URL_OF_SCAN = 'https://www.example.com/';
const listed = (fields: Record<string, unknown>): object => ({
  ...result(fields),
  url: URL_OF_SCAN,
  submitted_at: '2026-03-02T10:00:59.000Z',
});
const idOf = (index: number): string => SCAN_ID.slice(0, -4) + String(index).padStart(4, '0');

describe('curbcut list', () => {
  const { service, run } = serviceForTests();
  const queries = (): Record<string, string>[] =>
    service().requests.map(({ path }) => Object.fromEntries(new URL(path, 'http://x').searchParams));
  /** Serves `total` scans in pages. */
  const pages =
    (total: number): Answering =>
    ({ path }) => {
      const query = new URL(path, 'http://x').searchParams;
      const from = Number(query.get('cursor') ?? 0);
      const to = Math.min(total, from + Number(query.get('limit')));
      const data = Array.from({ length: to - from }, (_, index) => listed({ scan_id: idOf(from + index) }));
      return { status: 200, body: { data, next_cursor: to < total ? String(to) : null } };
    };

  it('prints a table of the newest 20 scans, and that there are more', async () => {
    const ran = await run(['list'], { [LIST]: [pages(30)] });
    expect(ran).to.deep.include({ code: 0, stderr: '' });
    const lines = ran.stdout.trimEnd().split('\n');
    expect(lines[0]!.split(/ {2,}/)).to.deep.equal(['ID', 'SUBMITTED', 'STATUS', 'SCORE', 'VIOLATIONS', 'VERDICT', 'URL']);
    expect(lines[1]!.split(/ {2,}/)).to.deep.equal([idOf(0), '2026-03-02 10:00', 'done', '97.5', '3', 'passed', URL_OF_SCAN]);
    expect(lines).to.have.length(22);
    expect(lines.at(-1)).to.match(/There are more scans: increase --limit/);
    expect(queries()).to.deep.equal([{ limit: '20' }]);
  });

  it('reads page after page up to --limit', async () => {
    const ran = await run(['list', '--limit', '250', '--json'], { [LIST]: [pages(1000)] });
    const { data, next_cursor } = JSON.parse(ran.stdout) as { data: { scan_id: string }[]; next_cursor: string };
    expect(data.map(({ scan_id }) => scan_id)).to.deep.equal(Array.from({ length: 250 }, (_, index) => idOf(index)));
    expect(next_cursor).to.equal('250');
    expect(queries()).to.deep.equal([{ limit: '100' }, { limit: '100', cursor: '100' }, { limit: '50', cursor: '200' }]);
  });

  it('ends if the service sends many cursors without scans, and says that there may be older ones', async () => {
    const ran = await run(['list'], { [LIST]: [replies(200, { data: [], next_cursor: 'again' })] });
    expect(ran).to.deep.include({ code: 0, stdout: 'No scans among the newest ones. There may be older ones.\n' });
    expect(service().requests).to.have.length(20);
  });

  it('goes on behind a page on which no scan meets the filters', async () => {
    const found = listed({ scan_id: idOf(1), metadata: { branch: 'main', commit: '4f371ac9e97b254279b4' } });
    const ran = await run(['list', '--metadata', 'branch=main', '--metadata', 'a.b=x=y'], {
      [LIST]: [replies(200, { data: [], next_cursor: '1' }), replies(200, { data: [found], next_cursor: null })],
    });
    const filters = { limit: '20', 'metadata.branch': 'main', 'metadata.a.b': 'x=y' };
    expect(queries()).to.deep.equal([filters, { ...filters, cursor: '1' }]);
    const [headings, row] = ran.stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(headings!.slice(-2)).to.deep.equal(['VERSION', 'URL']);
    expect(row!.slice(-2)).to.deep.equal(['main 4f371ac9', URL_OF_SCAN]);
  });

  it('in a narrow terminal shortens the ID and cuts the address', async () => {
    const data = [{ ...listed({ scan_id: SCAN_ID }), url: `${URL_OF_SCAN}a/long/path/of/it` }];
    const ran = await run(['list'], { [LIST]: [replies(200, { data, next_cursor: null })] }, { live: true });
    const lines = ran.stdout.trimEnd().split('\n');
    expect(lines.map(({ length }) => length).every((length) => length <= 80)).to.equal(true);
    expect(lines[1]!.split(/ {2,}/)).to.deep.equal([
      SCAN_ID.slice(0, 8),
      '2026-03-02',
      'done',
      '97.5',
      '3',
      'passed',
      'www.example.com/a/lon…',
    ]);
  });

  it('rejects a filter that is not KEY=VALUE: exit code 2', async () => {
    expect(await run(['list', '--metadata', 'main'], {})).to.include({
      code: 2,
      stderr: 'curbcut: Metadata must be KEY=VALUE, such as branch=main, and not "main".\nTry: curbcut list --help\n',
    });
  });

  it('prints scans that run, failed, or are in an unknown phase, without control characters', async () => {
    const nothing = { score: null, violations_count: null };
    const data = [
      listed({ ...nothing, status: 'scanning', passed: null }),
      listed({ ...nothing, status: 'failed', passed: false }),
      listed({ ...nothing, status: 'warm\u001b[2Jing', passed: null, since: 'yesterday' }),
    ];
    const ran = await run(['list'], { [LIST]: [replies(200, { data, next_cursor: null, total: 3 })] });
    const rows = ran.stdout.split('\n').slice(1, 4).map((line) => line.split(/ {2,}/).slice(2)); // prettier-ignore
    expect(rows).to.deep.equal([
      ['scanning', '–', '–', '–', URL_OF_SCAN],
      ['failed', '–', '–', 'did not pass', URL_OF_SCAN],
      ['warm [2Jing', '–', '–', '–', URL_OF_SCAN],
    ]);
  });

  it('explains a status that the service rejects: exit code 2', async () => {
    const body = { detail: [{ loc: ['query', 'status'], msg: 'It must be one of queued, done.', type: 'enum' }] };
    const ran = await run(['list', '--status', 'dome'], { [LIST]: [replies(422, body)] });
    expect(queries()).to.deep.equal([{ limit: '20', status: 'dome' }]);
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('status: It must be one of queued, done.');
  });
});
