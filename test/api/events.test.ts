/** Event streams: content, order, replicas, and how they end. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { follow } from './event-streams.ts';
import { type Replica, type ReplicaOptions } from './replica.ts';
import { eventually, useContext, type ApiContext } from './context.ts';

const OUTCOME = {
  score: 99.5,
  violations: { total: 1, critical: 0, serious: 1, moderate: 0, minor: 0 },
  pages: { scanned: 3, failed: 0, total: 3 },
};

for (const messages of [true, false]) {
  describe(`GET /v1/ci/scans/{scan_id}/events ${messages ? 'with' : 'without'} NATS`, () => {
    const quick: ReplicaOptions = { messages, streams: { keepaliveMs: 60_000, pollMs: messages ? 60_000 : 100, pollWithoutBusMs: 50 } };
    const context = useContext(quick);
    before(async () => {
      if (messages) await eventually('a connection to NATS', () => context.bus.connected);
    });

    /** Changes a scan like the operator: first the row, then the message. */
    async function change(row: ScanRow, what: Parameters<ApiContext['stores']['scans']['mirror']>[1]): Promise<ScanRow> {
      const { row: after } = (await context.stores.scans.mirror(row.id, what))!;
      context.bus.publishStatus(row.organisation, row.id);
      return after;
    }

    it('sends the current state immediately, then every change, then `complete`', async () => {
      const { id, key } = await context.organisation();
      const row = await context.scan(id);
      const stream = await follow(context, key, row.id);
      expect(stream.response.headers).to.include({ 'content-type': 'text/event-stream; charset=utf-8' });
      expect(stream.response.headers['cache-control']).to.include('no-store');
      await eventually('the current state', () => stream.events.length === 1);
      expect(stream.events[0]).to.deep.equal({
        id: row.version,
        data: { event: 'progress', status: 'queued', scan_id: row.id, pages_scanned: 0, pages_total: 0, message: null },
      });
      await change(row, { phase: 'crawling', pages: { scanned: 1, failed: 0, total: 3 } });
      await eventually('crawling', () => stream.events.at(-1)?.data.status === 'crawling');
      expect(stream.events.at(-1)?.data).to.include({ pages_scanned: 1, pages_total: 3 });
      await change(row, { phase: 'scanning', pages: { scanned: 3, failed: 0, total: 3 } });
      await eventually('scanning', () => stream.events.at(-1)?.data.status === 'scanning');
      const last = await change(row, { phase: 'done', outcome: OUTCOME, passed: false, message: 'Why.', finishedAt: new Date() });
      await stream.ended;

      expect(stream.events.at(-1)).to.deep.equal({
        id: last.version,
        data: {
          event: 'complete',
          scan_id: row.id,
          status: 'done',
          score: 99.5,
          violations_count: 1,
          violations_critical: 0,
          violations_serious: 1,
          violations_moderate: 0,
          violations_minor: 0,
          score_without_known: 99.5,
          score_without_decisions: 99.5,
          violations_new_or_open: 1,
          passed: false,
          message: 'Why.',
        },
      });
      expect(stream.events.filter(({ data }) => data.event === 'complete')).to.have.lengthOf(1);
      const ids = stream.events.map((event) => event.id);
      expect(ids).to.deep.equal([...new Set(ids)].sort((a, b) => a - b));
    });

    it('is served by any replica', async () => {
      const { id, key } = await context.organisation();
      const row = await context.scan(id);
      const other = await context.replica(quick);
      if (messages) await eventually('a connection to NATS', () => other.bus.connected);
      const streams = await Promise.all([context, other, other].map((replica) => follow(replica, key, row.id)));
      await eventually('the current state on every stream', () => streams.every(({ events }) => events.length === 1));
      await change(row, { phase: 'failed', message: 'The site did not answer.' });
      await Promise.all(streams.map(({ ended }) => ended));
      for (const { events } of streams) expect(events.at(-1)?.data).to.include({ event: 'complete', status: 'failed', score: null });
    });
  });
}

describe('an event stream', () => {
  const context = useContext({ streams: { keepaliveMs: 40, pollMs: 200, pollWithoutBusMs: 200 } });

  const openStreams = async (replica: Replica = context) =>
    Number(/curbcut_event_streams (\d+)/.exec(await replica.metrics.registry.metrics())![1]);

  it('completes immediately if the scan has ended, and answers 204 to a client that has seen that', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { phase: 'failed' });
    for (const headers of [{}, { 'Last-Event-ID': String(row.version - 1) }] as Record<string, string>[]) {
      const stream = await follow(context, key, row.id, headers);
      await stream.ended;
      expect(stream.events.map(({ id, data }) => [id, data.event, data.status])).to.deep.equal([[row.version, 'complete', 'failed']]);
    }
    const again = await follow(context, key, row.id, { 'Last-Event-ID': String(row.version) });
    await again.ended;
    expect([again.response.statusCode, again.events]).to.deep.equal([204, []]);
    await eventually('that no stream is open', async () => (await openStreams()) === 0);
  });

  it('is kept alive by comments, which are not events', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id);
    const stream = await follow(context, key, row.id);
    await eventually('three comments', () => stream.comments.length >= 3);
    expect([...new Set(stream.comments)]).to.deep.equal([': keepalive']);
    expect(stream.events).to.have.lengthOf(1);
    stream.abort();
  });

  it('ends if the scan is deleted', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id);
    const stream = await follow(context, key, row.id);
    await eventually('the current state', () => stream.events.length === 1);
    context.faults.set('scans.findMany', () => Promise.resolve([]));
    await stream.ended;
    context.faults.clear();
    expect(stream.events.map(({ data }) => data.event)).to.deep.equal(['progress']);
  });

  it('ends cleanly when the replica closes, and resumes on another one', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { phase: 'scanning' });
    const closing = await context.replica();
    const stream = await follow(closing, key, row.id);
    await eventually('the current state', () => stream.events.length === 1);
    await closing.close();
    await stream.ended;
    expect(stream.response.complete, 'the last chunk was sent').to.equal(true);
    expect(stream.events).to.have.lengthOf(1);
    await context.stores.scans.mirror(row.id, { phase: 'done', outcome: OUTCOME });
    const again = await follow(context, key, row.id, { 'Last-Event-ID': String(stream.events[0]!.id) });
    await again.ended;
    expect(again.events.map(({ data }) => data.event)).to.deep.equal(['complete']);
  });

  it('is released if the client disconnects before the row is read', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id);
    await eventually('the end of streams of earlier tests', async () => (await openStreams()) === 0);
    let read = (): void => undefined;
    context.calls.length = 0;
    context.faults.set('scans.findMany', async (real, ...parameters) => {
      await new Promise<void>((resolve) => (read = resolve));
      return real(...parameters);
    });
    const leaving = new AbortController();
    const opening = fetch(`${context.url}/v1/ci/scans/${row.id}/events`, { headers: { 'X-API-Key': key }, signal: leaving.signal });
    await eventually('the read of the row', () => context.calls.includes('scans.findMany'));
    leaving.abort();
    await opening.catch(() => undefined);
    await eventually('the end of the stream', async () => (await openStreams()) === 0);
    context.faults.clear();
    read();
    const next = await follow(context, key, row.id);
    await eventually('the state', () => next.events.length === 1);
    next.abort();
  });

  it('answers 405 to HEAD, and 404 if the scan does not exist', async () => {
    const { key } = await context.organisation();
    expect((await context.request('HEAD', `/v1/ci/scans/${randomUUID()}/events`, { key })).status).to.equal(405);
    expect((await context.request('GET', `/v1/ci/scans/${randomUUID()}/events`, { key })).body.detail).to.equal('scan_not_found');
  });
});
