/** How many commands each request sends to MongoDB. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { showCount } from '../support/counts.ts';
import { useContext, SUBMISSION } from './context.ts';

/** The ledger is copied outside requests, and the audit log is written there: once a second, together for all submissions. */
const RELAY = new Set(['find accounts', 'insert ledger', 'update accounts', 'insert audit']);

describe('a request sends to MongoDB', () => {
  const context = useContext({ queueCacheMs: 60_000 });

  const ofRequest = (): string[] => context.commands.filter((command) => !RELAY.has(command));

  /** The commands of a request, after an equal one. Uses of keys are written outside requests. */
  async function commandsOf(method: string, path: string, key: string): Promise<string[]> {
    await context.request(method, path, { key });
    await context.stores.keys.flush();
    context.commands.length = 0;
    await context.request(method, path, { key });
    return ofRequest();
  }

  it('a lookup of key, organisation and row, and one limit, for a poll', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id);
    const commands = await commandsOf('GET', `/v1/ci/scans/${row.id}`, key);
    expect(commands).to.deep.equal(['aggregate keys', 'findAndModify limits']);
    showCount(commands, 'MongoDB commands per poll');
  });

  it('no more for a poll that returns a position, after the first one', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { queue: 'nightly' });
    await context.stores.queueStates.writeLine('nightly', { waiting: 7, order: ['other', row.id] });
    const { body } = await context.request('GET', `/v1/ci/scans/${row.id}`, { key });
    expect(body.queue).to.deep.equal({ name: 'nightly', position: 2, waiting: 7 });
    expect(await commandsOf('GET', `/v1/ci/scans/${row.id}`, key)).to.deep.equal(['aggregate keys', 'findAndModify limits']);
  });

  it('at most six commands for an accepted submission, seven with an Idempotency-Key, and five for its repetition', async () => {
    const { key } = await context.organisation({ credits: 50 });
    const submit = async (headers: Record<string, string> = {}): Promise<string[]> => {
      await context.stores.keys.flush();
      context.commands.length = 0;
      expect((await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers })).status).to.equal(202);
      return ofRequest();
    };
    await submit();
    context.calls.length = 0;
    await submit();
    const resources = context.calls.filter((call) => call.startsWith('scanResources.'));
    expect(resources).to.deep.equal(['scanResources.submit']);
    showCount(resources, 'Kubernetes requests per accepted submission');
    const limits = ['findAndModify limits', 'findAndModify limits'];
    const charge = ['insert scans', 'findAndModify accounts', 'findAndModify scans'];
    const keyed = { 'Idempotency-Key': 'build' };
    const expected: [Record<string, string>, string[], string][] = [
      [{}, charge, 'accepted submission'],
      [keyed, ['findAndModify idempotency', ...charge], 'accepted submission with an Idempotency-Key'],
      [keyed, ['findAndModify idempotency', 'find scans'], 'repeated submission'],
    ];
    for (const [headers, own, what] of expected) {
      const commands = await submit(headers);
      expect(commands, what).to.deep.equal(['aggregate keys', ...limits, ...own]);
      showCount(commands, `MongoDB commands per ${what}`);
    }
  });

  it('the same and the limit of report links, for a link; the object store is asked once whether the object exists', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { phase: 'done', reports: await context.storeReports(randomUUID()) });
    context.calls.length = 0;
    expect(await commandsOf('GET', `/v1/scans/${row.id}/report`, key)).to.deep.equal([
      'aggregate keys',
      'findAndModify limits',
      'findAndModify limits',
    ]);
    expect(context.calls.filter((call) => call.startsWith('reports.'))).to.deep.equal([
      'reports.size',
      'reports.downloadLink',
      'reports.size',
      'reports.downloadLink',
    ]);
  });
});
