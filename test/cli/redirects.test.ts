import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  EVENTS,
  POLL,
  SCAN_ID,
  SUBMIT,
  accepts,
  complete,
  replies,
  serviceForTests,
  startService,
  streams,
  type Answering,
  type Service,
} from './service.ts';

describe('curbcut: redirects', () => {
  const { service, run, scan } = serviceForTests();
  let other: Service;
  let folder: string;
  before(async () => (folder = await mkdtemp(join(tmpdir(), 'curbcut-cli-'))));
  after(() => rm(folder, { recursive: true }));
  beforeEach(async () => (other = await startService(() => ({ status: 200, body: 'elsewhere' }))));
  afterEach(() => other.close());

  const moved =
    (status: number, path = '/v1/ci/scans'): Answering =>
    () => ({ status, headers: { Location: `${other.url}${path}` } });
  const done = { [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2))] };

  const requests: [string, string[], Record<string, Answering[]>][] = [
    ['a submission', ['scan', 'https://x.example/'], { [SUBMIT]: [moved(301)] }],
    ['an event stream', ['follow', SCAN_ID], { [EVENTS]: [moved(302)] }],
    ['a poll', ['follow', SCAN_ID], { [EVENTS]: [replies(500, '')], [POLL]: [moved(303)] }],
    ['a report link', ['follow', SCAN_ID, '--pdf', 'a.pdf'], { ...done, [`GET /v1/scans/${SCAN_ID}/report`]: [moved(307)] }],
    ['a cancellation', ['cancel', SCAN_ID], { [`POST /v1/ci/scans/${SCAN_ID}/cancel`]: [moved(308)] }],
  ];
  for (const [what, args, table] of requests)
    it(`does not follow that of ${what} to another origin, and names it: exit code 2`, async () => {
      const ran = await run(args, table);
      expect(other.requests).to.deep.equal([]);
      expect(ran.code).to.equal(2);
      expect(ran.stderr).to.include(`${service().url} redirects to ${other.url} (3`).and.to.include('set CURBCUT_URL');
    });

  it('does not follow a redirect to the same origin or without an address either: exit code 2', async () => {
    const same = await scan({ [SUBMIT]: [() => ({ status: 308, headers: { Location: '/prefix/v1/ci/scans' } })] });
    expect(same.code).to.equal(2);
    expect(same.stderr).to.include(`redirects to ${service().url}/prefix/v1/ci/scans (308)`);
    const nowhere = await scan({ [SUBMIT]: [replies(302, null)] });
    expect(nowhere.stderr).to.include('redirects elsewhere (302)');
    expect(service().requests).to.have.length(1);
  });

  it('follows redirects of a report download, which is sent without the API key', async () => {
    const file = join(folder, 'a.pdf');
    const ran = await scan(
      {
        ...done,
        [`GET /v1/scans/${SCAN_ID}/report`]: [() => ({ status: 200, body: { url: `${service().url}/objects/a.pdf`, expires_in: 3600 } })],
        'GET /objects/a.pdf': [moved(307, '/mirror/a.pdf')],
      },
      ['--pdf', file],
    );
    expect(ran.code, ran.stderr).to.equal(0);
    expect(await readFile(file, 'utf8')).to.equal('elsewhere');
    expect(other.requests.map(({ path }) => path)).to.deep.equal(['/mirror/a.pdf']);
    for (const { headers } of [...other.requests, ...service().of('GET', /objects/)]) expect(headers).to.not.have.property('x-api-key');
  });
});
