/** What clients that are not ours rely on: refused parameters, where a new resource is, and a stream that they follow. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { EventSource } from 'eventsource';
import { eventually, HIGH_LIMITS, useContext } from './context.ts';
import { PUBLIC_SCANS } from './public-context.ts';

interface Operation {
  requestBody?: { content: Record<string, { example?: object }> };
  responses: Record<string, { headers?: Record<string, { required?: boolean }> }>;
}

describe('clients that are not ours', () => {
  const context = useContext({ limits: HIGH_LIMITS, publicScans: PUBLIC_SCANS });

  /** Every operation of the versioned API, with a body that is valid. */
  const operations = () => {
    return Object.entries(context.document.paths as unknown as Record<string, Record<string, Operation>>)
      .filter(([path]) => path.startsWith('/v1/'))
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => {
          const [content] = Object.values(operation.requestBody?.content ?? {});
          return { path, method: method.toUpperCase(), operation, body: content?.example };
        }),
      );
  };

  it('get no answer to a query parameter that is misspelt, on any operation', async () => {
    const { key } = await context.organisation();
    const all = operations();
    expect(all).to.have.length.above(25);
    for (const { path, method, body } of all) {
      const answer = await context.request(method, `${path.replace(/\{\w+\}/g, randomUUID())}?misspelt=1`, { key, body });
      expect(answer.status, `${method} ${path}: ${answer.text}`).to.equal(422);
      expect(answer.body.detail, `${method} ${path}`).to.deep.equal([
        { loc: ['query', 'misspelt'], msg: answer.body.detail[0].msg, type: 'unexpected_field' },
      ]);
      expect(answer.body.detail[0].msg).to.include('misspelt');
    }
  });

  // The contract of the tests compares the header of every answer with the document.
  it('get the Location of what they create, which answers', async () => {
    const creating = operations().filter(({ operation }) => '201' in operation.responses);
    expect(creating).to.have.length.above(2);
    for (const { path, method, operation, body } of creating) {
      const { key } = await context.organisation({ credits: 10 });
      expect(operation.responses['201']!.headers, path).to.have.nested.property('Location.required', true);
      const answer = await context.request(method, path, { key, body });
      expect(answer.status, answer.text).to.equal(201);
      const found = await context.request('GET', answer.headers.get('location')!, { key });
      expect([found.status, found.body.id], path).to.deep.equal([200, answer.body.id]);
    }
  });

  it('get an API key by its ID, also when it is revoked, and none of another organisation', async () => {
    const [mine, theirs] = [await context.organisation(), await context.organisation()];
    const { body: issued } = await context.request('POST', '/v1/api-keys', { key: mine.key, body: { name: 'Pipeline' } });
    const path = `/v1/api-keys/${issued.id}`;
    const { body: list } = await context.request('GET', '/v1/api-keys', { key: mine.key });
    expect((await context.request('GET', path, { key: mine.key })).body).to.deep.equal(list.data[0]);
    await context.request('DELETE', path, { key: mine.key });
    expect((await context.request('GET', path, { key: mine.key })).body.status).to.equal('revoked');
    const foreign = await context.request('GET', path, { key: theirs.key });
    expect([foreign.status, foreign.body.detail]).to.deep.equal([404, 'key_not_found']);
  });

  it('follow a stream with the npm package eventsource, which closes after the end of the scan', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id, { phase: 'scanning' });
    const statuses: number[] = [];
    const source = new EventSource(`${context.url}/v1/ci/scans/${row.id}/events`, {
      async fetch(url, init) {
        const response = await fetch(url, { ...init, headers: { ...init.headers, 'X-API-Key': key } });
        statuses.push(response.status);
        return response;
      },
    });
    const events: string[] = [];
    source.addEventListener('message', ({ data }) => events.push((JSON.parse(data as string) as { event: string }).event));
    const closed = new Promise<void>((resolve) => {
      source.addEventListener('error', () => source.readyState === EventSource.CLOSED && resolve());
    });
    await eventually('the current state', () => events.length === 1);
    await context.stores.scans.mirror(row.id, { phase: 'failed', message: 'The site did not answer.' });
    context.bus.publishStatus(id, row.id);
    await closed;
    expect([events, statuses]).to.deep.equal([
      ['progress', 'complete'],
      [200, 204],
    ]);
  });

  it('may send the last event ID as event-source-polyfill does', async () => {
    const { id, key } = await context.organisation();
    const scan = await context.scan(id, { phase: 'done', finishedAt: new Date() });
    const events = `/v1/ci/scans/${scan.id}/events?lastEventId=`;
    expect((await context.request('GET', `${events}${scan.version}`, { key })).status).to.equal(204);
    expect((await context.request('GET', `${events}${scan.version - 1}`, { key })).status).to.equal(200);
  });
});
