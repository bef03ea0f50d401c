/** The audit log of an organisation. */
import type { FastifyPluginAsync } from 'fastify';
import { AUDIT_ACTIONS } from '../../../core/audit-actions.ts';
import { decodeCursor, pageOf } from '../../pagination.ts';
import { storesOf } from '../../scoped-stores.ts';
import { button, emptyState, link, linkButton, pagination, selectField, table, time } from '../../web/components/index.ts';
import { html } from '../../web/html.ts';
import { dashboardPage } from '../../web/layout.ts';

const PATH = '/dashboard/settings/audit-log';
const PER_PAGE = 50;

export const auditPages: FastifyPluginAsync = async (scope) => {
  scope.get(PATH, { config: { permission: 'audit:read' } }, async (request, reply) => {
    const query = request.query as { action?: string; cursor?: string };
    const action = typeof query.action === 'string' && Object.hasOwn(AUDIT_ACTIONS, query.action) ? query.action : undefined;
    const after = decodeCursor(typeof query.cursor === 'string' ? query.cursor : undefined);
    const found = await storesOf(request).audit.page({ action, after, limit: PER_PAGE + 1 });
    const { items, nextCursor } = pageOf(found, PER_PAGE, ({ at, id }) => ({ at, id }));
    const address = (parameters: Record<string, string>) => `${PATH}?${new URLSearchParams({ ...(action && { action }), ...parameters })}`;
    const body = html`<h1>Audit log</h1>
      <p class="lead">Every change to this organisation, its members and its API keys, the newest first.</p>
      <form method="get" action="${PATH}" class="inline-form">
        ${selectField({
          name: 'action',
          label: 'Action',
          required: true,
          value: action ?? '',
          choices: [{ value: '', text: 'All actions' }, ...Object.entries(AUDIT_ACTIONS).map(([value, text]) => ({ value, text }))],
        })}
        ${button({ text: 'Filter' })}
      </form>
      ${
        items.length === 0
          ? emptyState({
              title: 'No entries',
              text: action === undefined ? 'The audit log has no entries yet.' : 'There are no entries of this action.',
              action: action === undefined ? undefined : linkButton({ text: 'Show all actions', href: PATH }),
            })
          : table({
              id: 'audit-log',
              caption: 'Audit log',
              captionHidden: true,
              columns: [{ text: 'When' }, { text: 'Who' }, { text: 'What' }, { text: 'Details' }],
              rows: items.map((entry) => [time(entry.at), entry.actor, actionText(entry.action), entry.subject ?? '']),
            })
      }
      ${after !== null && html`<p>${link('Newest entries', action === undefined ? PATH : address({}))}</p>`}
      ${pagination({ previous: null, next: nextCursor === null ? null : address({ cursor: nextCursor }) })}`;
    return reply.page(dashboardPage({ request, title: 'Audit log', active: 'audit-log', body }));
  });
};

/** An action that a newer version recorded is shown by its name. */
const actionText = (action: string): string => (Object.hasOwn(AUDIT_ACTIONS, action) ? AUDIT_ACTIONS[action]! : action);
