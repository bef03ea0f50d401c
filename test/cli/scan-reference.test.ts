/** `latest` and the beginnings of IDs, wherever a command takes the ID of a scan. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { smallReport } from '../report/samples.ts';
import { accepted, accepts, complete, replies, result, SCAN_ID, serviceForTests, streams, SUBMIT, type Answering } from './service.ts';

const OTHER = SCAN_ID.replace('3f2b8c1e', '3f2b9999');
const OLD = SCAN_ID.replace('3f2b', 'abcd');
const LIST = 'GET /v1/ci/scans';
const listed = (id: string) => ({ ...result(), scan_id: id, submitted_at: '2026-03-02T10:00:00Z' });
const CHECK = {
  ...{ ...listed(SCAN_ID.replace('3f2b', 'cccc')), submitted_at: '2026-03-02T11:00:00Z' },
  baseline: {
    ...{ scan_id: SCAN_ID, problem: null, new: 0, new_known: 0, on_new_pages: 0, fixed: 1, unchanged: 0, not_tested: 0 },
    check: { cause: null, answer: 'fixed', reason: null, before: 1, left: 0, new: 0 },
  },
};
const scans: Answering = ({ path }) =>
  path.includes('cursor=')
    ? { status: 200, body: { data: [listed(OLD)], next_cursor: null } }
    : { status: 200, body: { data: [CHECK, listed(SCAN_ID), listed(OTHER)], next_cursor: 'next' } };

describe('IDs of scans', () => {
  const { run, service } = serviceForTests();
  const link = (): ReturnType<Answering> => ({ status: 200, body: { url: `${service().url}/object`, expires_in: 60 } });
  const WHY = ['--all', '--reason', 'r', '--owner', 'o', '--until', new Date(Date.now() + 86_400_000).toISOString()];

  /** Each command, and the scan that its requests are about. */
  const commands: [string, (id: string) => string[], (id: string) => string][] = [
    ['follow', (id) => ['follow', id], (id) => `/v1/ci/scans/${id}/events`],
    ['cancel', (id) => ['cancel', id], (id) => `/v1/ci/scans/${id}/cancel`],
    ['report', (id) => ['report', id], (id) => `/v1/scans/${id}/report`],
    ['diff', (id) => ['diff', id, id], (id) => `/v1/scans/${id}/report/json`],
    ['comment', (id) => ['comment', id], (id) => `/v1/scans/${id}/report/json`],
    ['accept', (id) => ['accept', id, ...WHY], (id) => `/v1/scans/${id}/report/json`],
  ];
  const table = (id: string): Record<string, Answering[]> => ({
    [LIST]: [scans],
    [`GET /v1/ci/scans/${id}/events`]: [streams(complete(1))],
    [`POST /v1/ci/scans/${id}/cancel`]: [replies(202, result({ status: 'canceled' }))],
    [`GET /v1/scans/${id}/report`]: [link],
    [`GET /v1/scans/${id}/report/json`]: [link],
    'GET /object': [replies(200, smallReport())],
  });
  const beginnings = [
    ['latest', SCAN_ID],
    ['3f2b9', OTHER],
    ['ABCD', OLD],
  ] as const;
  for (const [at, [name, args, path]] of commands.entries()) {
    const [text, id] = beginnings[at % beginnings.length]!;
    it(`${name} takes ${text}`, async () => {
      const ran = await run(args(text), table(id));
      expect(ran.code, ran.stderr).to.equal(0);
      expect(service().requests.map((request) => request.path)).to.include(path(id));
      expect(ran.stderr).to.include(`Scan ${id}  2026-03-02 10:00  https://x.example/`);
    });
  }

  it('names the scans that an ambiguous beginning may be: exit code 2', async () => {
    const ran = await run(['report', '3f2b'], { [LIST]: [scans] });
    expect(ran).to.deep.include({ code: 2, stdout: '' });
    expect(ran.stderr).to.include('The IDs of 2 scans begin with 3f2b').and.include(`  ${SCAN_ID}  2026`).and.include(`  ${OTHER}  2026`);
  });

  it('says that there is no such scan: exit code 2', async () => {
    const wrong = await run(['report', 'zzzz'], {});
    expect([wrong.code, wrong.stderr]).to.deep.equal([
      2,
      'curbcut: zzzz is not the ID of a scan. Write the ID, at least its first 4 characters, or latest.\nTo see the IDs: curbcut list\n',
    ]);
    expect((await run(['report', '0000'], { [LIST]: [scans] })).stderr).to.include(
      'No scan of your organisation has an ID that begins with',
    );
    const none = { [LIST]: [replies(200, { data: [], next_cursor: null })] };
    expect((await run(['report', 'latest'], none)).stderr).to.include('Your organisation has no scans yet.');
    const many = { [LIST]: [replies(200, { data: Array.from({ length: 100 }, () => listed(SCAN_ID)), next_cursor: 'more' })] };
    expect((await run(['report', '0000'], many)).stderr).to.include('No scan of the newest 1000 scans');
  });

  it('takes a baseline by the beginning of its ID', async () => {
    const ran = await run(['scan', 'https://x.example/', '--baseline', '3f2b9', '--max-new-violations', '0'], {
      ...table(accepted.scan_id),
      [SUBMIT]: [accepts],
    });
    expect(ran.code, ran.stderr).to.equal(0);
    expect(service().of('POST', '/v1/ci/scans')[0]!.body).to.deep.include({ baseline: { scan: OTHER } });
  });

  it('are files for comment and accept if there is such a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'curbcut-test-'));
    const before = process.cwd();
    try {
      await writeFile(join(folder, 'latest'), JSON.stringify(smallReport()));
      process.chdir(folder);
      expect(await run(['comment', 'latest'], {})).to.include({ code: 0, stderr: '' });
    } finally {
      process.chdir(before);
      await rm(folder, { recursive: true });
    }
  });
});
