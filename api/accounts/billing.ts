/** The credit balance. */
import { Type } from 'typebox';
import { callerOf } from '../http/plugins/auth.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { EXAMPLES } from '../http/examples.ts';
import { answer, KEYED, keyWith, LIMITED, reference, refusals } from '../http/responses.ts';

export const CreditBalance = Type.Object(
  {
    balance: Type.Integer({ minimum: 0, description: 'Credits that can be reserved now.' }),
    plan: Type.String(),
    setup_complete: Type.Boolean({ description: 'Whether the organisation has a live key and has ever been granted credits.' }),
  },
  { $id: 'CreditBalance' },
);

const GET_CREDITS = {
  operationId: 'getCredits',
  tags: ['Account'],
  summary: 'Get the credit balance',
  security: keyWith('credits:read'),
  response: {
    200: answer('The balance.', reference(CreditBalance), LIMITED, { balance: EXAMPLES.credits }),
    ...refusals(KEYED, { validated: false }),
  },
};

export const billingRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  scope.get('/v1/billing/credits', { config: { permission: 'credits:read' }, schema: GET_CREDITS }, async (request) => {
    const { organisation } = callerOf(request);
    const { balance, granted } = await scope.stores.credits.balance(organisation.id);
    // The live key is the one of this request.
    return { balance, plan: organisation.plan, setup_complete: granted > 0 };
  });
};
