/** The audit log of an organisation. */
import type { FastifyPluginAsync } from 'fastify';
import { AUDIT_ACTIONS, isSecurityAction } from '../../../core/audit-actions.ts';
import { AUDIT_KINDS, type AuditEntry, type AuditKind, SECURITY_KEPT_DAYS } from '../../../stores/accounts/audit.ts';
import { scanPath } from '../../../core/web-paths.ts';
import { decodeCursor, pageOf } from '../../http/pagination.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { button, emptyState, filters, link, linkButton, pagination, selectField, table, tabs, time } from '../../web/components.ts';
import { addressOf, html, type Html } from '../../../report/html/html.ts';
import { scanOfEntry } from '../../scans/cancellation.ts';
import { actorNames, type ActorNames } from '../names.ts';
import { titledPage } from '../forms.ts';
import { shown } from '../scans/words.ts';

const PATH = '/dashboard/settings/audit-log';
const PER_PAGE = 50;
const KIND_NAMES: Readonly<Record<AuditKind, string>> = { changes: 'Changes', security: 'Sign-ins and security' };

interface Filters {
  kind?: AuditKind;
  action?: string;
}

export const auditPages: FastifyPluginAsync = async (scope) => {
  scope.get(PATH, { config: { permission: 'audit:read' } }, async (request, reply) => {
    const query = request.query as { kind?: unknown; action?: unknown; cursor?: unknown };
    const filters = filtersOf(query);
    const after = decodeCursor(typeof query.cursor === 'string' ? query.cursor : undefined);
    const found = await storesOf(request).audit.page({ ...filters, after, limit: PER_PAGE + 1 });
    const { items, nextCursor } = pageOf(found, PER_PAGE, ({ at, id }) => ({ at, id }));
    const names = await actorNames(storesOf(request), items, ({ actor }) => actor);
    const body = html`<p class="lead">
        Every change to this organisation, its members and its API keys, each scan that was started or canceled, and what concerns the security of its accounts and keys; the newest
        first. Changes are kept. Sign-ins and other entries with a network are removed after ${SECURITY_KEPT_DAYS} days.
      </p>
      ${tabs('Kind of entries', [
        { text: 'All', href: PATH, current: filters.kind === undefined },
        ...AUDIT_KINDS.map((kind) => ({ text: KIND_NAMES[kind], href: addressOf(PATH, { kind }), current: filters.kind === kind })),
      ])}
      ${actionFilter(filters)} ${items.length === 0 ? noEntries(filters) : entryTable(items, names)}
      ${after !== null && html`<p>${link('Newest entries', addressOf(PATH, { ...filters }))}</p>`}
      ${pagination({ previous: null, next: nextCursor && addressOf(PATH, { ...filters, cursor: nextCursor }) })}`;
    return reply.page(titledPage({ request, title: 'Audit log', active: 'audit-log', body }));
  });
};

/** Values that no form sends are ignored, so that an edited address still shows the log. */
function filtersOf({ kind, action }: { kind?: unknown; action?: unknown }): Filters {
  const known = AUDIT_KINDS.find((one) => one === kind);
  return {
    ...(known !== undefined && { kind: known }),
    ...(typeof action === 'string' && Object.hasOwn(AUDIT_ACTIONS, action) && { action }),
  };
}

function actionFilter({ kind, action }: Filters): Html {
  const actions = Object.entries(AUDIT_ACTIONS).filter(([name]) => kind === undefined || isSecurityAction(name) === (kind === 'security'));
  const form = html`<form method="get" action="${PATH}" class="inline-form">
    ${kind !== undefined && html`<input type="hidden" name="kind" value="${kind}" />`}
    ${selectField({
      name: 'action',
      label: 'Action',
      required: true,
      value: action ?? '',
      choices: [{ value: '', text: 'All actions' }, ...actions.map(([value, text]) => ({ value, text }))],
    })}
    ${button({ text: 'Filter' })}
  </form>`;
  return filters({ form, active: action === undefined ? 0 : 1 });
}

function noEntries({ kind, action }: Filters): Html {
  if (kind === undefined && action === undefined) return emptyState({ title: 'No entries', text: 'The audit log has no entries yet.' });
  const text = action === undefined ? 'There are no entries of this kind.' : 'There are no entries of this action.';
  return emptyState({ title: 'No entries', text, action: linkButton({ text: 'Show all actions', href: PATH }) });
}

const entryTable = (entries: readonly AuditEntry[], names: ActorNames): Html =>
  table({
    id: 'audit-log',
    caption: 'Audit log',
    captionHidden: true,
    columns: [{ text: 'When' }, { text: 'Who', wide: true }, { text: 'What' }, { text: 'Details', wide: true }, { text: 'Network' }],
    rows: entries.map((entry) => [
      time(entry.at),
      names(entry.actor),
      actionText(entry.action),
      detailsOf(entry),
      entry.networks.length > 0 && html`<span translate="no">${entry.networks.join(', ')}</span>`,
    ]),
  });

/** An action that a newer version recorded is shown by its name. */
const actionText = (action: string): string => (Object.hasOwn(AUDIT_ACTIONS, action) ? AUDIT_ACTIONS[action]! : action);

/** An entry of several events says how many they were, and when the last one was. */
function detailsOf(entry: AuditEntry): Html {
  const { subject, count, until } = entry;
  const scan = scanOfEntry(entry);
  if (scan !== null) return link(html`<span class="address">${shown(scan.site, 120)}</span>`, scanPath(scan.id));
  return count > 1 ? html`${subject !== null && html`${subject}: `}${count} times, the last one ${time(until)}` : html`${subject ?? ''}`;
}
