/** The credits of the organisation and their ledger. */
import { Readable } from 'node:stream';
import type { FastifyPluginAsync } from 'fastify';
import { callerOf } from '../../http/plugins/auth.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { ledgerCsv } from './csv.ts';
import { readSteps } from './first-steps.ts';
import { readLines } from './lines.ts';
import { creditsPage, CREDITS_PATH } from './page.ts';

const PER_PAGE = 25;
const PERMISSION = { config: { permission: 'credits:read' } } as const;

export const creditPages: FastifyPluginAsync = async (scope) => {
  scope.get(CREDITS_PATH, PERMISSION, async (request, reply) => {
    const { cursor } = request.query as { cursor?: string };
    const stores = storesOf(request);
    const [{ lines, nextCursor }, balance, steps] = await Promise.all([
      readLines(stores, { limit: PER_PAGE, cursor }),
      stores.credits.balance(),
      readSteps(stores),
    ]);
    const { plan } = callerOf(request).organisation;
    return reply.page(creditsPage({ request, plan, balance, steps, lines, first: cursor === undefined, nextCursor }));
  });

  scope.get(`${CREDITS_PATH}/ledger.csv`, PERMISSION, async (request, reply) => {
    reply
      .type('text/csv; charset=utf-8')
      .header('Content-Disposition', 'attachment; filename="ledger.csv"')
      .header('Cache-Control', 'no-store')
      .header('X-Content-Type-Options', 'nosniff');
    return reply.send(Readable.from(ledgerCsv(storesOf(request).credits)));
  });
};
