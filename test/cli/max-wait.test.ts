import { mkdtemp, readdir, rm } from 'node:fs/promises';
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
  progress,
  replies,
  result,
  serviceForTests,
  silence,
  stream,
  streams,
  type Answering,
  type Output,
} from './service.ts';

describe('curbcut --max-wait', () => {
  const { service, scan } = serviceForTests();
  const seconds = (ran: Output): number => ran.slept.reduce((sum, ms) => sum + ms, 0) / 1000;
  const counts = (): number[] => [SUBMIT, EVENTS, POLL].map((route) => service().of(...(route.split(' ') as [string, string])).length);
  const down = (retryAfter: number): Answering =>
    replies(503, { detail: 'service_unavailable', message: 'Down.' }, { 'Retry-After': String(retryAfter) });
  const running = (headers = {}): Answering =>
    replies(202, result({ status: 'scanning', score: null, passed: null, violations_count: null }), headers);
  /** Sends the headers of an event stream and nothing more. */
  const opensOnly: Answering = (_, response) => {
    stream(response, [], false);
    response.flushHeaders();
  };

  it('ends a submission that is never answered: exit code 2', async () => {
    const ran = await scan({ [SUBMIT]: [silence] }, ['--max-wait', '1']);
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.match(/cannot be reached \(no response in time\)\.\nGave up after 1 attempt and 1 s without service/);
    expect(ran.stderr).to.include('--idempotency-key key-of-this-run');
    expect(counts()).to.deep.equal([1, 0, 0]);
  });

  it('ends a scan whose streams open and send nothing: exit code 2', async () => {
    const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [opensOnly], [POLL]: [silence] }, ['--max-wait', '1']);
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include(`curbcut follow ${SCAN_ID}`);
    expect(counts()).to.deep.equal([1, 1, 1]);
  });

  it('bounds the retries of endless errors', async () => {
    const ran = await scan({ [SUBMIT]: [replies(503, null)] }, ['--max-wait', '60']);
    expect(ran.code).to.equal(2);
    // 0.5, 1, 2, 4, and then 8 s each.
    expect(counts()).to.deep.equal([11, 0, 0]);
    expect(seconds(ran)).to.equal(55.5);
  });

  it('does not wait for a Retry-After that is longer', async () => {
    const ran = await scan({ [SUBMIT]: [replies(429, { detail: 'rate_limit_exceeded' }, { 'Retry-After': '3600' })] }, [
      '--max-wait',
      '60',
    ]);
    expect(ran).to.deep.include({ code: 2, slept: [] });
    expect(ran.stderr).to.include('The rate limit is reached.\nIt asks to wait 3600 s, longer than --max-wait 60.');
    expect(counts()).to.deep.equal([1, 0, 0]);
  });

  it('is one budget for submission, streams and polls', async () => {
    const ran = await scan({ [SUBMIT]: [down(40), accepts], [EVENTS]: [down(20)], [POLL]: [down(20)] }, ['--max-wait', '70']);
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('and 60 s without service (--max-wait 70); it asks to wait another 20 s.');
    expect(ran.slept).to.deep.equal([40_000, 20_000]);
    expect(counts()).to.deep.equal([2, 1, 1]);
  });

  it('does not count streams that a proxy buffers, if polls are answered', async () => {
    const ran = await scan(
      { [SUBMIT]: [accepts], [EVENTS]: [opensOnly], [POLL]: [running(), running(), running(), replies(200, result())] },
      ['--max-wait', '4'],
    );
    expect(ran.code, ran.stderr).to.equal(0);
    expect(counts()).to.deep.equal([1, 3, 4]);
  });

  it('limits the wait between two polls, whatever the service asks for', async () => {
    const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams()], [POLL]: [running({ 'Retry-After': '86400' }), running(), running({ 'Retry-After': '86400' }), replies(200, result())] }); // prettier-ignore
    expect(ran.code).to.equal(0);
    expect(Math.max(...ran.slept)).to.equal(60_000);
  });

  it('0 sends each request once', async () => {
    const refused = await scan({ [SUBMIT]: [down(1)] }, ['--max-wait', '0']);
    expect(refused).to.deep.include({ code: 2, slept: [] });
    expect(counts()).to.deep.equal([1, 0, 0]);
    const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(complete(2))] }, ['--max-wait', '0']);
    expect(ran.code, ran.stderr).to.equal(0);
  });

  it('0 still pauses between streams that break', async () => {
    const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [streams(progress(1, 'queued', 0, 1)), streams(progress(2, 'crawling', 0, 1)), streams(complete(3))] }, ['--max-wait', '0']); // prettier-ignore
    expect(ran.code, ran.stderr).to.equal(0);
    expect(ran.slept).to.deep.equal([1000, 1000]);
  });

  it('bounds the download of a report, after the verdict was printed: exit code 2', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'curbcut-cli-'));
    try {
      const ran = await scan(
        {
          [SUBMIT]: [accepts],
          [EVENTS]: [streams(complete(2))],
          [`GET /v1/scans/${SCAN_ID}/report`]: [() => ({ status: 200, body: { url: `${service().url}/objects/a.pdf`, expires_in: 3600 } })],
          // The headers and a first chunk, and then nothing.
          'GET /objects/a.pdf': [(_, response) => void response.writeHead(200, { 'Content-Length': '1000' }).write('%PDF')],
        },
        ['--pdf', join(folder, 'a.pdf'), '--max-wait', '1'],
      );
      expect(ran.code).to.equal(2);
      expect(ran.stdout).to.include('✓ passed');
      expect(ran.stderr).to.include('could not be saved').and.to.include('no response in time');
      expect(service().of('GET', '/objects/a.pdf')).to.have.length(1);
      expect(await readdir(folder)).to.deep.equal([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
