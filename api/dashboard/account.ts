/** The page of a user's own account. */
import type { FastifyPluginAsync } from 'fastify';
import { callerOf } from '../plugins/auth.ts';
import { html } from '../web/html.ts';
import { dashboardPage } from '../web/layout.ts';

export const accountPages: FastifyPluginAsync = async (scope) => {
  scope.get('/dashboard/account', { config: { permission: null } }, async (request, reply) => {
    const { organisation } = callerOf(request);
    const body = html`<h1>Account</h1>
      <p>${request.viewer!.email}, ${organisation.displayName}</p>`;
    return reply.page(dashboardPage({ request, title: 'Account', active: 'account', body }));
  });
};
