/** Every REST route with every scope of API keys. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { KEY_SCOPES, type KeyScope } from '../../core/accounts.ts';
import { issueKey } from '../support/issue-key.ts';
import { useContext, HIGH_LIMITS, SUBMISSION } from './context.ts';

/** The scope that each route requires, and the status if the key has it. */
const ROUTES: Readonly<Record<string, [scope: KeyScope, status: number]>> = {
  'POST /v1/ci/scans': ['scans:write', 202],
  'GET /v1/ci/scans': ['scans:read', 200],
  'GET /v1/ci/scans/{scan_id}': ['scans:read', 404],
  'GET /v1/ci/scans/{scan_id}/events': ['scans:read', 404],
  'POST /v1/ci/scans/{scan_id}/cancel': ['scans:write', 404],
  'DELETE /v1/scans/{scan_id}': ['scans:delete', 404],
  'GET /v1/scans/{scan_id}/report': ['scans:read', 404],
  'GET /v1/scans/{scan_id}/report/json': ['scans:read', 404],
  'GET /v1/scans/{scan_id}/report/pictures': ['scans:read', 404],
  'GET /v1/billing/credits': ['credits:read', 200],
  'GET /v1/billing/ledger': ['credits:read', 200],
  'POST /v1/api-keys': ['keys:write', 201],
  'GET /v1/api-keys': ['keys:write', 200],
  'GET /v1/api-keys/{key_id}': ['keys:write', 404],
  'DELETE /v1/api-keys/{key_id}': ['keys:write', 404],
  'GET /v1/webhooks': ['webhooks:write', 200],
  'POST /v1/webhooks': ['webhooks:write', 201],
  'GET /v1/webhooks/{webhook_id}': ['webhooks:write', 404],
  'PATCH /v1/webhooks/{webhook_id}': ['webhooks:write', 404],
  'DELETE /v1/webhooks/{webhook_id}': ['webhooks:write', 404],
  'POST /v1/webhooks/{webhook_id}/rotate-secret': ['webhooks:write', 404],
  'POST /v1/webhooks/{webhook_id}/test': ['webhooks:write', 404],
  'GET /v1/webhooks/{webhook_id}/deliveries': ['webhooks:write', 404],
  'POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay': ['webhooks:write', 404],
  'POST /v1/known-issues': ['known-issues:write', 201],
  'GET /v1/known-issues': ['scans:read', 200],
  'GET /v1/known-issues/{known_issue_id}': ['scans:read', 404],
  'PATCH /v1/known-issues/{known_issue_id}': ['known-issues:write', 404],
  'DELETE /v1/known-issues/{known_issue_id}': ['known-issues:write', 404],
  'GET /v1/sites': ['scans:read', 200],
  'GET /v1/schedules': ['scans:read', 200],
  'POST /v1/schedules': ['schedules:write', 201],
  'GET /v1/schedules/{namespace}/{name}': ['scans:read', 404],
  'PATCH /v1/schedules/{namespace}/{name}': ['schedules:write', 404],
  'DELETE /v1/schedules/{namespace}/{name}': ['schedules:write', 404],
  'POST /v1/schedules/{namespace}/{name}/run': ['schedules:write', 404],
};

const BODIES: Readonly<Record<string, object>> = {
  'POST /v1/ci/scans': { ...SUBMISSION, max_pages: 1 },
  'POST /v1/api-keys': { name: 'x' },
  'POST /v1/webhooks': { name: 'x', url: SUBMISSION.url, events: ['scan.failed'] },
  'PATCH /v1/webhooks/{webhook_id}': { name: 'x' },
  'POST /v1/known-issues': {
    site: 'www.example.org',
    fingerprint: '0123456789abcdef',
    reason: 'x',
    owner: 'x',
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  },
  'PATCH /v1/known-issues/{known_issue_id}': { reason: 'x' },
  'POST /v1/schedules': { schedule: '@daily', scan: SUBMISSION },
  'PATCH /v1/schedules/{namespace}/{name}': { suspended: true },
};

describe('scopes of API keys', () => {
  const context = useContext({ limits: HIGH_LIMITS });

  interface Operation {
    security?: { apiKey?: string[] }[];
  }

  it('are those that the OpenAPI document names, on every route that requires a key', () => {
    const paths = context.document.paths as unknown as Record<string, Record<string, Operation>>;
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { security = [] }]) => {
        const scopes = security.flatMap(({ apiKey = [] }) => apiKey);
        return scopes.length === 0 ? [] : [[`${method.toUpperCase()} ${path}`, scopes] as const];
      }),
    );
    const expected = Object.entries(ROUTES).map(([route, [scope]]) => [route, [scope]]);
    expect(documented).to.have.deep.members(expected);
  });

  for (const [route, [needed, permitted]] of Object.entries(ROUTES))
    it(`open ${route} with ${needed}, and without it no other scope does`, async () => {
      const { id } = await context.organisation({ credits: 1 });
      const [method, path] = route.split(' ') as [string, string];
      const send = async (scopes: KeyScope[]) => {
        const { secret: key } = await issueKey(context.stores.keys, id, { scopes });
        return context.request(method, path.replaceAll(/\{\w+\}/g, randomUUID()), { key, body: BODIES[route] });
      };
      expect((await send([needed])).status).to.equal(permitted);
      const { status, body } = await send(KEY_SCOPES.filter((scope) => scope !== needed));
      expect([status, body.detail, body.permission]).to.deep.equal([403, 'permission_denied', needed]);
      expect(body.message).to.include(needed);
    });

  it('are checked before the request is read', async () => {
    const { id } = await context.organisation();
    const { secret: key } = await issueKey(context.stores.keys, id, { scopes: ['scans:read'] });
    const { status, body } = await context.request('POST', '/v1/ci/scans', { key, raw: '{' });
    expect([status, body.detail]).to.deep.equal([403, 'permission_denied']);
  });

  it('are also required for HEAD', async () => {
    const { id } = await context.organisation();
    const { secret: key } = await issueKey(context.stores.keys, id, { scopes: ['scans:read'] });
    expect((await context.request('HEAD', '/v1/billing/credits', { key })).status).to.equal(403);
    expect((await context.request('HEAD', '/v1/ci/scans', { key })).status).to.equal(200);
  });
});
