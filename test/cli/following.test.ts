import { expect } from 'chai';
import {
  SCAN_ID,
  accepted,
  complete,
  progress,
  result,
  running,
  stream,
  SUBMIT,
  EVENTS,
  POLL,
  accepts,
  streams,
  replies,
  serviceForTests,
  type Answering,
} from './service.ts';

describe('curbcut scan: following', () => {
  const { service, scan } = serviceForTests();
  it('continues to follow in a phase that a newer service added', async () => {
    const ran = await scan({
      [SUBMIT]: [accepts],
      [EVENTS]: [streams(progress(1, 'warming', 0, 4)), streams(complete(3))],
      [POLL]: [replies(202, running('cooling'))],
    });
    expect(ran.code).to.equal(0);
    expect(ran.stderr).to.include('warming').and.not.include('sent a response');
  });

  it('ignores unknown events and fields', async () => {
    const ran = await scan({
      [SUBMIT]: [replies(202, { ...accepted, position: 7 })],
      [EVENTS]: [
        streams(
          'id: 1\nevent: estimate\ndata: {"event":"estimate","seconds":30}\n\n',
          'id: 2\ndata: {"event":"progress","status":"scanning","pages_scanned":1,"pages_total":2,"shards":[1,2]}\n\n',
          complete(3, { coverage: 100, groups: [{ rule: 'x' }] }),
        ),
      ],
    });
    expect(ran.code).to.equal(0);
    expect(ran.stderr).to.include('scanning 1 of 2 pages').and.not.include('estimate');
  });

  it('reopens a broken stream with Last-Event-ID and shows no step twice', async () => {
    const ran = await scan({
      [SUBMIT]: [accepts],
      [EVENTS]: [
        streams(progress(1, 'crawling', 0, 4), progress(2, 'scanning', 2, 4)),
        streams(': keepalive\n\n', progress(3, 'scanning', 4, 4), complete(4)),
      ],
    });
    expect(ran.code).to.equal(0);
    const ids = service()
      .of('GET', /events$/)
      .map(({ headers }) => headers['last-event-id']);
    expect(ids).to.deep.equal([undefined, '2']);
    // For what the last event does not have.
    expect(service().of('GET', `/v1/ci/scans/${SCAN_ID}`)).to.have.length(1);
    expect(ran.stderr.match(/crawling/g)).to.have.length(1);
  });

  it('polls at the interval of Retry-After if streams send no events', async () => {
    const now = (status: string): Answering => replies(202, running(status), { 'Retry-After': '6' });
    const ran = await scan({
      [SUBMIT]: [accepts],
      [EVENTS]: [streams()],
      [POLL]: [
        now('queued'),
        now('queued'),
        now('scanning'),
        now('generating'),
        replies(422, result({ passed: false, message: 'It did not.' })),
      ],
    });
    expect(ran.code).to.equal(1);
    expect(ran.stderr).to.include('The event stream sends no events; polling instead.');
    expect(ran.stderr).to.match(/queued\n[^]*scanning\n[^]*generating\n/);
    expect(ran.slept).to.include(6000);
    expect(service().of('GET', /events$/)).to.have.length(3);
  });

  it('continues if the service restarts', async () => {
    const down = replies(503, { detail: 'service_unavailable', message: 'Down.' }, { 'Retry-After': '5' });
    const ran = await scan({
      [SUBMIT]: [accepts],
      [EVENTS]: [streams(progress(1, 'scanning', 1, 4)), down, streams(complete(9))],
      [POLL]: [down, replies(202, running())],
    });
    expect(ran.code).to.equal(0);
    expect(ran.stderr).to.include('A part of the service is down; retrying in 5 s.');
  });

  it('stops if the key is revoked: exit code 2', async () => {
    const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [replies(401, { detail: 'invalid_api_key', message: 'No.' })] });
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('was not accepted (401)');
  });

  it('stops when interrupted, and prints how to resume and how to cancel: exit code 130', async () => {
    const interrupt = new AbortController();
    const opens: Answering = (_, response) => {
      stream(response, [progress(1, 'scanning', 1, 4)], false);
      setImmediate(() => interrupt.abort('SIGINT'));
    };
    const ran = await scan({ [SUBMIT]: [accepts], [EVENTS]: [opens] }, [], { interrupt });
    expect(ran.code).to.equal(130);
    expect(ran.stderr.split('Interrupted.\n')[1]).to.equal(
      `This command did not cancel the scan.\nTo follow it again: curbcut follow ${SCAN_ID}\nTo cancel it: curbcut cancel ${SCAN_ID}\n`,
    );
    // Interrupting the command must not cancel the scan: the next run of a pipeline may want its result.
    expect(service().of('POST', /cancel/)).to.have.length(0);
  });

  it('says what a scan waits for, once and as the reason when it gives up', async () => {
    const message = 'The scan could not be started; it waits in its queue and is tried again: quota exceeded.';
    const down = replies(503, { detail: 'service_unavailable', message: 'Down.' }, { 'Retry-After': '5' });
    const waits = { event: 'progress', status: 'queued', pages_scanned: 0, pages_total: 0, message };
    const ran = await scan(
      {
        [SUBMIT]: [accepts],
        [EVENTS]: [streams(...[1, 2].map((id) => `id: ${id}\ndata: ${JSON.stringify(waits)}\n\n`)), down],
        [POLL]: [replies(202, { ...running('queued'), message }), down],
      },
      ['--max-wait', '12'],
    );
    expect(ran.code).to.equal(2);
    const [followed, ended] = ran.stderr.split('curbcut: ') as [string, string];
    expect(followed.split(message)).to.have.length(2);
    expect(ended).to.include(`${message}\nThis command did not cancel the scan.`);
  });

  it('reports that there are not enough credits for all pages', async () => {
    const ran = await scan({ [SUBMIT]: [replies(202, { ...accepted, pages_reserved: 2 })], [EVENTS]: [streams(complete(2))] }, [
      '--partial',
    ]);
    expect(ran.stderr).to.include('There are only enough credits for 2 of 5 pages.');
  });
});
