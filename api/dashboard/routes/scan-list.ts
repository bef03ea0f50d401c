/** The pages that list scans. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { mayCall } from '../../../core/accounts.ts';
import { SCANS_PATH } from '../../../core/web-paths.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { dashboardPage } from '../../web/layout.ts';
import { actorNames } from '../actor-names.ts';
import { readListQuery, toSearch } from '../list-query.ts';
import { LIST_FRAGMENT, scanListBody, scanListFragment, type ScanListData } from '../views/scan-list.ts';
import { sendFragment } from './deps.ts';

/** Scans on one page. */
const PAGE_SIZE = 25;

const config = { permission: 'scans:read' } as const;

export const scanListPages: FastifyPluginAsync = async (scope) => {
  scope.get(SCANS_PATH, { config }, async (request, reply) => {
    const body = scanListBody(await listData(request));
    return reply.page(dashboardPage({ request, title: 'Scans', active: 'scans', scripts: ['dashboard.js'], body }));
  });

  scope.get(LIST_FRAGMENT, { config }, async (request, reply) => sendFragment(request, reply, scanListFragment(await listData(request))));
};

/** Two queries, however many scans there are, and a third one if filters need it. */
async function listData(request: FastifyRequest): Promise<ScanListData> {
  const { scans, credits } = storesOf(request);
  const query = readListQuery(request.query as Record<string, unknown>);
  const [{ rows, next }, account] = await Promise.all([scans.search(toSearch(query, PAGE_SIZE)), credits.account()]);
  return {
    query,
    rows,
    names: await actorNames(storesOf(request), rows, ({ submittedBy }) => submittedBy),
    next,
    account: { liveScans: account?.liveScans ?? 0, credits: account?.balance ?? 0 },
    maySubmit: mayCall(callerOf(request), 'scans:write'),
  };
}
