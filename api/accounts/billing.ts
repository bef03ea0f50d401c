/** The credit balance. */
import { Type } from 'typebox';
import type { Credits } from '../../stores/credits/credits.ts';
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

export const billingRoutes: FastifyPluginAsyncTypebox<{ credits: Pick<Credits, 'balance'> }> = async (scope, { credits }) => {
  scope.get(
    '/v1/billing/credits',
    {
      config: { permission: 'credits:read' },
      schema: {
        operationId: 'getCredits',
        tags: ['Account'],
        summary: 'Get the credit balance',
        security: keyWith('credits:read'),
        response: {
          200: answer('The balance.', reference(CreditBalance), LIMITED, { balance: EXAMPLES.credits }),
          ...refusals(KEYED, { validated: false }),
        },
      },
    },
    async (request) => {
      const { organisation } = callerOf(request);
      const { balance, granted } = await credits.balance(organisation.id);
      // The live key is the one of this request.
      return { balance, plan: organisation.plan, setup_complete: granted > 0 };
    },
  );
};
