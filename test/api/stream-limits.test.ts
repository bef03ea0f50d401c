/** When event streams are refused, and when they end before the scan. */
import { expect } from 'chai';
import { issueKey } from '../support/issue-key.ts';
import { follow, type Stream } from './event-streams.ts';
import { useContext, eventually } from './context.ts';

describe('an event stream whose intervals are long', () => {
  const context = useContext({
    maxEventStreams: 22,
    streams: { keepaliveMs: 60_000, pollMs: 60_000, pollWithoutBusMs: 60_000, checkMs: 50 },
  });

  const openStreams = async () => Number(/curbcut_event_streams (\d+)/.exec(await context.metrics.registry.metrics())![1]);
  beforeEach(() => eventually('the end of streams of earlier tests', async () => (await openStreams()) === 0));
  async function openFor(key: string, organisation: string): Promise<{ stream: Stream; path: string }> {
    const row = await context.scan(organisation);
    const stream = await follow(context, key, row.id);
    await eventually('the current state', () => stream.events.length === 1);
    return { stream, path: `/v1/ci/scans/${row.id}/events` };
  }

  it('ends when its key is revoked, and a reconnect gets 401; streams of other keys stay', async () => {
    const { id, key, keyId } = await context.organisation();
    const { secret } = await issueKey(context.stores.keys, id);
    const [revoked, other] = [await openFor(key, id), await openFor(secret, id)];
    await context.stores.keys.revoke(id, keyId);
    await revoked.stream.ended;
    expect(revoked.stream.response.complete, 'the last chunk was sent').to.equal(true);
    expect((await context.request('GET', revoked.path, { key })).status).to.equal(401);
    expect(other.stream.hasEnded()).to.equal(false);
    other.stream.abort();
  });
  it('is refused with 429 beyond the limits of its key and organisation, and with 503 beyond that of the replica', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id);
    const streams = await Promise.all(Array.from({ length: 20 }, () => follow(context, key, row.id)));
    const refusal = async (one: string, scanId: string) => {
      const { status, body, headers } = await context.request('GET', `/v1/ci/scans/${scanId}/events`, { key: one });
      return [status, body.detail, body.limit, headers.get('retry-after')];
    };
    expect(await refusal(key, row.id)).to.deep.equal([429, 'too_many_streams', 'key', '10']);
    const { secret } = await issueKey(context.stores.keys, id);
    expect(await refusal(secret, row.id)).to.deep.equal([429, 'too_many_streams', 'organisation', '10']);
    const other = await context.organisation();
    const theirs = await context.scan(other.id);
    streams.push(await follow(context, other.key, theirs.id), await follow(context, other.key, theirs.id));
    expect(await refusal(other.key, theirs.id)).to.deep.equal([503, 'streams_full', 'replica', '10']);
    streams[0]!.abort();
    await eventually('the end of the stream', async () => (await openStreams()) === 21);
    streams.push(await follow(context, key, row.id));
    for (const stream of streams) stream.abort();
  });
});
