/** `ETag` and `If-Match` of what a PATCH changes. */
import { expect } from 'chai';
import { HIGH_LIMITS, useContext } from './context.ts';

const END = new Date(Date.now() + 30 * 86_400_000).toISOString();

/** What has a PATCH: how it is created, and two changes. */
const KINDS = [
  {
    list: '/v1/known-issues',
    one: '/v1/known-issues/{known_issue_id}',
    body: { site: 'www.example.com', fingerprint: '0123456789abcdef', reason: 'Later.', owner: 'web', expires_at: END },
    changes: [{ owner: 'video' }, { owner: 'shop' }],
  },
  {
    list: '/v1/webhooks',
    one: '/v1/webhooks/{webhook_id}',
    body: { name: 'Chat', url: 'https://example.com/hook', events: ['scan.completed'] },
    changes: [
      { name: 'Log', enabled: false },
      { name: 'Mail', enabled: true },
    ],
  },
  {
    list: '/v1/schedules',
    one: '/v1/schedules/{namespace}/{name}',
    body: { schedule: '0 8 * * 1', scan: { url: 'https://example.com/shop' } },
    changes: [{ schedule: '0 9 * * 1' }, { suspended: true }],
  },
] as const;

describe('If-Match', () => {
  const context = useContext({ limits: HIGH_LIMITS });

  it('is an option of every PATCH', () => {
    const paths = Object.entries(context.document.paths).filter(([path, { patch }]) => path.startsWith('/v1/') && patch !== undefined);
    expect(paths.map(([path]) => path).toSorted()).to.deep.equal(KINDS.map(({ one }) => one).toSorted());
    for (const [path, { patch }] of paths) {
      const { parameters } = patch as unknown as { parameters: { name: string; in: string; required?: boolean }[] };
      expect(
        parameters.find(({ name }) => name === 'If-Match'),
        path,
      )
        .to.include({ in: 'header' })
        .and.not.have.property('required', true);
    }
  });

  for (const { list, body, changes } of KINDS)
    describe(list, () => {
      async function create() {
        const { key } = await context.organisation({ credits: 20 });
        const created = await context.request('POST', list, { key, body, headers: { 'Idempotency-Key': 'one' } });
        expect(created.status, created.text).to.equal(201);
        const path = created.headers.get('location')!;
        const get = () => context.request('GET', path, { key });
        const patch = (change: object, match?: string) =>
          context.request('PATCH', path, { key, body: change, headers: match === undefined ? {} : { 'If-Match': match } });
        return { key, created, get, patch };
      }
      const tagOf = ({ headers }: { headers: Headers }) => headers.get('etag')!;

      it('changes the version that it names, and no other', async () => {
        const { key, created, get, patch } = await create();
        const first = tagOf(created);
        expect(first).to.match(/^"[\w-]+"$/);
        expect(tagOf(await get())).to.equal(first);
        const changed = await patch(changes[0], `"other", ${first}`);
        expect(changed.status, changed.text).to.equal(200);
        expect(tagOf(changed)).to.not.equal(first);
        const read = await get();
        expect([tagOf(read), read.body]).to.deep.equal([tagOf(changed), changed.body]);
        for (const match of [first, `W/${tagOf(changed)}`, tagOf(changed).slice(1, -1), '']) {
          const refused = await patch(changes[1], match);
          expect([refused.status, refused.body.detail], match).to.deep.equal([412, 'precondition_failed']);
        }
        expect((await get()).body).to.deep.equal(read.body);
        expect((await patch(changes[1], '*')).status).to.equal(200);
        expect((await patch(changes[0])).status).to.equal(200);
        // A repeated request has the tag of the first response.
        const again = await context.request('POST', list, { key, body, headers: { 'Idempotency-Key': 'one' } });
        if (again.status === 201) expect(tagOf(again)).to.equal(first);
      });

      it('lets one of several requests at the same time change it', async () => {
        const { created, get, patch } = await create();
        const answers = await Promise.all([0, 1, 0, 1, 0, 1].map((one) => patch(changes[one]!, tagOf(created))));
        expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 412, 412, 412, 412, 412]);
        expect((await get()).body).to.deep.equal(answers.find(({ status }) => status === 200)!.body);
      });
    });

  it('does not count what happens to it', async () => {
    const { key } = await context.organisation();
    const { body, headers } = await context.request('POST', KINDS[1].list, { key, body: KINDS[1].body });
    await context.stores.webhooks.failed(body.id, new Date());
    const read = await context.request('GET', `${KINDS[1].list}/${body.id}`, { key });
    expect([read.headers.get('etag'), read.body.failing_since === null]).to.deep.equal([headers.get('etag'), false]);
  });
});
